//! What a Zarr store says of itself: a group of the array `0` and of those of its levels, as OME-Zarr 0.5 has it.
//!
//! Formats: <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html>, and <https://ngff.openmicroscopy.org/0.5/>.

use relief_engine::sink::Raster;
use relief_raster::Depth;
use serde_json::{Value, json};

use super::ZarrOptions;

/// The group: axes, the size of a pixel of every level, and the job.
pub(super) fn group(raster: &Raster, levels: usize, job: &blake3::Hash) -> Vec<u8> {
    let axis = |name: &str| match raster.pixel {
        Some(_) => json!({"name": name, "type": "space", "unit": "micrometer"}),
        None => json!({"name": name, "type": "space"}),
    };
    // In micrometres, one rounding for lengths whose terms binary64 holds.
    let side = raster.pixel.map_or(1.0, |pixel| {
        let (above, below) = pixel.terms();
        (u128::from(above) * 1_000_000) as f64 / below as f64
    });
    let dataset = |level: usize| {
        // A sample lies in the middle of its pixels; the first pixel is at 0.
        let factor = (1_u64 << level) as f64;
        let mut transformations = vec![json!({"type": "scale", "scale": [side * factor, side * factor]})];
        if level > 0 {
            let middle = side * (factor - 1.0) / 2.0;
            transformations.push(json!({"type": "translation", "translation": [middle, middle]}));
        }
        json!({"path": level.to_string(), "coordinateTransformations": transformations})
    };
    let mut scales = json!({
        "axes": [axis("y"), axis("x")],
        "datasets": (0..=levels).map(dataset).collect::<Vec<_>>(),
    });
    if levels > 0 {
        scales["type"] = "mean".into();
        scales["metadata"] = json!({
            "description": "every sample is the exact mean of its pixels of level 0, rounded once, halves up",
        });
    }
    written(&json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {
            "ome": {
                "version": "0.5",
                "multiscales": [scales],
            },
            "relief": {"job": job.to_string()},
        },
    }))
}

/// The array: its shape, chunks and codecs.
pub(super) fn array(raster: &Raster, options: &ZarrOptions, chunk: (u64, u64), shard: (u64, u64)) -> Vec<u8> {
    let data_type = match raster.depth {
        Depth::Eight => "uint8",
        Depth::Sixteen => "uint16",
    };
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let mut codecs = vec![bytes.clone()];
    if options.gzip {
        codecs.push(json!({"name": "gzip", "configuration": {"level": crate::sink::compression::LEVEL}}));
    }
    let codecs: Value = if options.shard.is_some() {
        json!([{
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [chunk.1, chunk.0],
                "codecs": codecs,
                "index_codecs": [bytes, {"name": "crc32c"}],
                "index_location": "end",
            },
        }])
    } else {
        codecs.into()
    };
    written(&json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": [raster.height, raster.width],
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [shard.1, shard.0]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": codecs,
        "dimension_names": ["y", "x"],
        "attributes": {},
    }))
}

fn written(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
