//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::bilateral::gpu::{bilateral, scratch_words};
use relief_kernels::device::{Buffer, cubes, on_client};
use relief_kernels::element::Element;
use relief_kernels::transpose::gpu::Matrix;

use super::{FRAMES, Picture, Temporal, Way};
use crate::array::{Kind, Layout};
use crate::family::{Failure, OnGpu, Outcome, Variant};

/// Columns and rows of pixels of a cube.
const SIDE: (u32, u32) = (32, 8);

pub(super) fn variants(way: Way) -> Vec<Variant<Picture>> {
    match way {
        Way::Disc => vec![
            Variant::gpu(
                "naive",
                "an exponential for each neighbour",
                |p: &Picture, call| {
                    sums(
                        p,
                        &call,
                        &Sums::of(p, false, Axis::Both),
                        &call.inputs[0],
                        &call.outputs[0],
                    )
                },
            ),
            Variant::gpu(
                "tables",
                "weights of places in shared memory",
                |p: &Picture, call| {
                    sums(
                        p,
                        &call,
                        &Sums::of(p, true, Axis::Both),
                        &call.inputs[0],
                        &call.outputs[0],
                    )
                },
            ),
        ],
        Way::Separable => vec![
            Variant::gpu(
                "naive",
                "an exponential for each neighbour",
                |p: &Picture, call| separable(p, &call, false),
            )
            .scratch(between),
            Variant::gpu(
                "tables",
                "weights of places in shared memory",
                |p: &Picture, call| separable(p, &call, true),
            )
            .scratch(between),
        ],
        Way::Grid => vec![
            Variant::gpu(
                "production",
                "splat in shared memory, blur, slice: three launches",
                grid,
            )
            .source("0.25 ms (GTX 690)")
            .scratch(|p| {
                let words = scratch_words(p.job(), element(p)).unwrap_or(0);
                vec![Layout::of::<u32>(words as usize)]
            })
            .production(),
        ],
    }
}

fn element(picture: &Picture) -> Element {
    match picture.kind {
        Kind::U8 => Element::U8,
        Kind::U16 => Element::U16,
        _ => Element::F32,
    }
}

fn words_of_row(picture: &Picture) -> u32 {
    (picture.pitch() * picture.kind.bytes() / 4) as u32
}

fn grid(picture: &Picture, call: OnGpu<'_>) -> Outcome {
    let pitch = words_of_row(picture);
    let matrix = |buffer| Matrix { buffer, pitch };
    let (from, to) = (matrix(&call.inputs[0]), matrix(&call.outputs[0]));
    bilateral(
        call.gpu,
        element(picture),
        picture.job(),
        from,
        to,
        &call.scratch[0],
    )?;
    Ok(())
}

/// What is compiled into a kernel of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sums {
    from_bits: u32,
    to_bits: u32,
    table: bool,
    axis: Axis,
    radius: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Axis {
    Both,
    Row,
    Column,
}

impl Sums {
    fn of(picture: &Picture, table: bool, axis: Axis) -> Self {
        let bits = 8 * picture.kind.bytes() as u32;
        Self {
            from_bits: bits,
            to_bits: bits,
            table,
            axis,
            radius: picture.radius() as u32,
        }
    }
}

/// Floats between rows and columns.
fn between(picture: &Picture) -> Vec<Layout> {
    vec![Layout::of::<f32>(picture.pitch() * picture.height)]
}

fn separable(picture: &Picture, call: &OnGpu<'_>, table: bool) -> Outcome {
    let rows = Sums {
        to_bits: 32,
        ..Sums::of(picture, table, Axis::Row)
    };
    let columns = Sums {
        from_bits: 32,
        ..Sums::of(picture, table, Axis::Column)
    };
    sums(picture, call, &rows, &call.inputs[0], &call.scratch[0])?;
    sums(picture, call, &columns, &call.scratch[0], &call.outputs[0])
}

/// Floats are fractions of the greatest value everywhere.
fn sums(picture: &Picture, call: &OnGpu<'_>, plan: &Sums, from: &Buffer, to: &Buffer) -> Outcome {
    if picture.width == 0 || picture.height == 0 {
        return Ok(());
    }
    if plan.table && 2 * plan.radius * plan.radius >= 8_192 {
        return Err(Failure::Unsupported("a table of so many places".to_owned()));
    }
    let (gpu, plan) = (call.gpu, *plan);
    gpu.launch(
        "bilateral sums",
        &plan,
        to,
        || on_client!(gpu, client => sums_on(client, picture, plan, from, to)),
    )?;
    Ok(())
}

fn sums_on<R: Runtime>(client: &ComputeClient<R>, picture: &Picture, plan: Sums, from: &Buffer, to: &Buffer) {
    let words = |bits: u32| (picture.pitch() as u32 * bits).div_ceil(32);
    let columns = words(plan.to_bits);
    let range = f64::from(picture.range()) / f64::from(picture.greatest());
    let scale = match picture.kind {
        Kind::U8 => 255.0,
        Kind::U16 => 65_535.0,
        _ => 1.0,
    };
    // SAFETY: places of neighbours are brought into the picture, and words stored are compared with its size.
    unsafe {
        sums_kernel::launch_unchecked::<R>(
            client,
            CubeCount::Static(
                columns.div_ceil(SIDE.0),
                (picture.height as u32).div_ceil(SIDE.1),
                1,
            ),
            CubeDim::new_2d(SIDE.0, SIDE.1),
            ArrayArg::from_raw_parts(from.handle(), from.words()),
            ArrayArg::from_raw_parts(to.handle(), to.words()),
            picture.width as u32,
            picture.height as u32,
            words(plan.from_bits),
            words(plan.to_bits),
            (-0.5 / f64::from(picture.sigma).powi(2)) as f32,
            (-0.5 / range.powi(2)) as f32,
            scale,
            plan,
        );
    }
}

#[cube]
fn sample(image: &Array<u32>, x: u32, y: u32, pitch: u32, scale: f32, #[comptime] bits: u32) -> f32 {
    if comptime!(bits == 32) {
        f32::reinterpret(image[(y * pitch + x) as usize])
    } else {
        let word = image[(y * pitch + x / comptime!(32 / bits)) as usize];
        let shift = (x % comptime!(32 / bits)) * bits;
        f32::cast_from((word >> shift) & comptime!((1u32 << (bits % 32)) - 1)) / scale
    }
}

#[cube(launch_unchecked)]
fn sums_kernel(
    from: &Array<u32>,
    to: &mut Array<u32>,
    width: u32,
    height: u32,
    from_pitch: u32,
    to_pitch: u32,
    space: f32,
    range: f32,
    scale: f32,
    #[comptime] plan: Sums,
) {
    let squares = comptime!(if plan.table {
        2 * plan.radius * plan.radius + 1
    } else {
        1
    });
    let mut table = SharedMemory::<f32>::new(squares as usize);
    if comptime!(plan.table) {
        let mut square = UNIT_POS;
        while square < squares {
            table[square as usize] = Exp::exp(f32::cast_from(square) * space);
            square += comptime!(SIDE.0 * SIDE.1);
        }
        sync_cube();
    }
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    let first = word * comptime!(32 / plan.to_bits);
    let reach = comptime!(plan.radius as i32);
    let across = comptime!(if plan.axis == Axis::Column {
        0
    } else {
        plan.radius as i32
    });
    let down = comptime!(if plan.axis == Axis::Row {
        0
    } else {
        plan.radius as i32
    });
    if word < to_pitch {
        if y < height {
            let mut packed = u32::new(0);
            #[unroll]
            for s in 0..comptime!(32 / plan.to_bits) {
                let x = first + s;
                if x < width {
                    let middle = sample(from, x, y, from_pitch, scale, plan.from_bits);
                    let mut sum = 0.0f32;
                    let mut weights = 0.0f32;
                    let mut dy = i32::cast_from(u32::new(0)) - down;
                    while dy <= down {
                        let row =
                            u32::cast_from(clamp(i32::cast_from(y) + dy, 0, i32::cast_from(height) - 1));
                        let mut dx = i32::cast_from(u32::new(0)) - across;
                        while dx <= across {
                            let square = dx * dx + dy * dy;
                            if square <= comptime!(reach * reach) {
                                let column = clamp(i32::cast_from(x) + dx, 0, i32::cast_from(width) - 1);
                                let value = sample(
                                    from,
                                    u32::cast_from(column),
                                    row,
                                    from_pitch,
                                    scale,
                                    plan.from_bits,
                                );
                                let difference = value - middle;
                                let weight = if comptime!(plan.table) {
                                    table[square as usize] * Exp::exp(difference * difference * range)
                                } else {
                                    Exp::exp(f32::cast_from(square) * space + difference * difference * range)
                                };
                                sum += weight * value;
                                weights += weight;
                            }
                            dx += 1;
                        }
                        dy += 1;
                    }
                    let mean = sum / weights;
                    if comptime!(plan.to_bits == 32) {
                        packed = u32::reinterpret(mean);
                    } else {
                        packed |= u32::cast_from(mean * scale + 0.5f32) << comptime!(s * plan.to_bits);
                    }
                }
            }
            to[(y * to_pitch + word) as usize] = packed;
        }
    }
}

pub(super) fn temporal() -> Vec<Variant<Temporal>> {
    vec![
        Variant::gpu(
            "words",
            "four pixels of a word, all frames",
            |p: &Temporal, call| {
                let count = p.pixels.div_ceil(4) as u32;
                if count == 0 {
                    return Ok(());
                }
                let (gpu, to) = (call.gpu, &call.outputs[0]);
                let grid = cubes(gpu, count.div_ceil(256));
                let inputs = call.inputs;
                gpu.launch(
                    "temporal",
                    &(),
                    to,
                    || on_client!(gpu, client => temporal_on(client, inputs, to, count, grid.clone())),
                )?;
                Ok(())
            },
        )
        .production(),
    ]
}

fn temporal_on<R: Runtime>(
    client: &ComputeClient<R>,
    inputs: &[Buffer],
    to: &Buffer,
    count: u32,
    grid: CubeCount,
) {
    let mut frames = SequenceArg::new();
    for frame in &inputs[..FRAMES] {
        // SAFETY: the buffer has so many words.
        frames.push(unsafe { ArrayArg::from_raw_parts(frame.handle(), frame.words()) });
    }
    // SAFETY: places are compared with `count`, words that all buffers hold.
    unsafe {
        mean_of_frames::launch_unchecked::<R>(
            client,
            grid,
            CubeDim::new_1d(256),
            frames,
            ArrayArg::from_raw_parts(to.handle(), to.words()),
            count,
        );
    }
}

/// Bytes in pairs of 16 bits each: a sum of eight fits.
#[cube(launch_unchecked)]
fn mean_of_frames(frames: &Sequence<Array<u32>>, to: &mut Array<u32>, count: u32) {
    let place = CUBE_POS as u32 * 256u32 + UNIT_POS;
    if place < count {
        let half = comptime!(FRAMES as u32 / 2 * 0x0001_0001);
        let mut even = u32::new(half as i64);
        let mut odd = u32::new(half as i64);
        #[unroll]
        for k in 0..FRAMES {
            let word = frames.index(k)[place as usize];
            even += word & 0x00FF_00FFu32;
            odd += (word >> 8u32) & 0x00FF_00FFu32;
        }
        to[place as usize] = ((even >> 3u32) & 0x00FF_00FFu32) | (((odd >> 3u32) & 0x00FF_00FFu32) << 8u32);
    }
}
