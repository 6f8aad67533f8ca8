//! What is the same is computed and held once: nodes, pictures, tables.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use relief_design::kinds::Compose;
use relief_design::tree::{Child, Conversion, Design, Kind, Node, NodeId, Role};
use relief_engine::{
    Cancel, Depth, ImageError, ImageSource, Kept, NoImages, Options, Picture, Plan, Rect, Renderer,
};
use relief_raster::Extent;

use crate::oracle::strategy::models;
use crate::pictures::{Computed, Pictures};
use crate::run::{design, parse, rendered, renderer, window};

/// The greater of a design and a copy of it, which is the design.
fn doubled(design: &Design) -> Design {
    let count = design.nodes().len();
    let mut nodes = design.nodes().to_vec();
    nodes.extend(design.nodes().iter().map(|node| {
        let mut copy = node.clone();
        copy.children.iter_mut().for_each(|child| child.node.0 += count);
        copy
    }));
    let root = &design.nodes()[count - 1];
    let child = |role, node| Child {
        role,
        node: NodeId(node),
        extent: Extent::new(0, 0, root.width, root.height).unwrap(),
    };
    nodes.push(Node {
        kind: Kind::Compose(Compose),
        children: vec![child(Role::Base, count - 1), child(Role::Max, 2 * count - 1)],
        ..root.clone()
    });
    Design::new(design.canvas(), nodes, None).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_copy_of_a_design_adds_no_step_and_changes_no_sample(model in models()) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let once = renderer(&design, &images, &Options::default());
        let twice = renderer(&doubled(&design), &images, &Options::default());
        prop_assert!(twice.plan().nodes().len() <= once.plan().nodes().len() + 1);
        prop_assert_eq!(rendered(&twice).unwrap(), rendered(&once).unwrap());
    }
}

/// Screens of as many levels: whichever tables are shared, each node has its own dots.
#[test]
fn every_screen_of_a_plate_has_its_own_levels() {
    const DOTS: [&str; 4] = ["round", "line", "diamond", "ellipse"];
    let screen = |dot: &str, x: usize| {
        format!(
            "dither \"screen\" frequency=\"60lpcm\" dot=\"{dot}\" x={x} width=64 {{ (source)ramp axis=\"y\" from={} to=250 }}\n",
            x / 10
        )
    };
    let text = |inner: &str| {
        format!("relief version=1\ncanvas width=1536 height=64 pixel=\"10um\"\ncompose {{\n{inner}}}")
    };
    let drawn =
        |inner: &str| rendered(&renderer(&parse(&text(inner)), &NoImages, &Options::default())).unwrap();
    // Every dot is followed by each, after as many equal ones as there are.
    let order = (0..24).map(|number| DOTS[(number / 4 + number % 4 * (number / 8)) % 4]);
    let (mut plate, mut expected) = (String::new(), vec![0; 1536 * 64]);
    for (number, dot) in order.enumerate() {
        let (role, node) = (if number == 0 { "base" } else { "max" }, screen(dot, 64 * number));
        plate += &format!("({role}){node}");
        let alone = drawn(&format!("(base){node}"));
        for (sample, other) in expected.iter_mut().zip(alone) {
            *sample = other.max(*sample);
        }
    }
    for _ in 0..8 {
        assert!(drawn(&plate) == expected);
    }
}

/// A picture of 60 × 40 pixels, and how often it was read.
#[derive(Default)]
struct Counted(Arc<Mutex<Vec<String>>>);

const SIZE: (u64, u64) = (60, 40);

struct Opened {
    path: String,
    reads: Arc<Mutex<Vec<String>>>,
}

impl ImageSource for Counted {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        Ok(Box::new(Opened {
            path: path.to_owned(),
            reads: Arc::clone(&self.0),
        }))
    }
}

impl Picture for Opened {
    fn size(&self) -> (u64, u64) {
        SIZE
    }

    fn read(
        &self,
        window: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        self.reads.lock().unwrap().push(self.path.clone());
        let computed = Computed {
            size: SIZE,
            windowed: false,
            memory: 0,
            sample: |x, y| (1 + (7 * x + 13 * y) % 255) as u16,
        };
        computed.read(window, depth, row)
    }
}

/// Nodes that show a picture whole, cropped, padded and copied; `name` tells the picture of each.
fn showing(name: impl Fn(usize) -> String) -> Design {
    let text = format!(
        "relief version=1\ncanvas width=200 height=150\ncompose {{
            (base)image \"{}\" x=-5 y=-3
            (over)image \"{}\" x=70 y=-30 width=31 height=64
            (over)image \"{}\" x=90 y=60 width=200 height=90
            (max)repeat x=5 y=70 width=70 height=70 {{ (pattern)image \"{}\" width=17 height=13 }}
            (over)image \"{}\" x=120 y=5 width=31 height=25
        }}",
        name(0),
        name(1),
        name(2),
        name(3),
        name(4)
    );
    relief_design::parse("test.kdl", &text, &|_: &str| Ok(SIZE)).unwrap()
}

#[test]
fn a_picture_is_read_and_held_once_however_many_nodes_show_it() {
    let (same, apart) = (
        showing(|_| "p".to_owned()),
        showing(|number| format!("p{number}")),
    );
    let images = Counted::default();
    let one = renderer(&same, &images, &Options::default());
    assert_eq!(*images.0.lock().unwrap(), ["p"]);
    let five = renderer(&apart, &Counted::default(), &Options::default());
    assert_eq!(rendered(&one).unwrap(), rendered(&five).unwrap());
    assert_eq!(one.plan().peak().images, SIZE.0 * SIZE.1);
    let held: u64 = one
        .plan()
        .nodes()
        .iter()
        .filter(|node| node.kept == Kept::Picture)
        .map(|node| node.bytes)
        .sum();
    assert_eq!(
        held,
        one.plan().peak().images,
        "the nodes' parts sum up to the whole"
    );
}

#[test]
fn only_the_part_of_a_picture_that_any_node_reads_is_held() {
    let region = Options::default().with(|with| with.region = Rect::new(75, 0, 20, 20));
    let (same, apart) = (
        showing(|_| "p".to_owned()),
        showing(|number| format!("p{number}")),
    );
    let one = renderer(&same, &Counted::default(), &region);
    let five = renderer(&apart, &Counted::default(), &region);
    assert_eq!(rendered(&one).unwrap(), rendered(&five).unwrap());
    // Of the second node columns 5 to 24 of rows 30 to 49, of which the picture has ten.
    assert_eq!(one.plan().peak().images, 20 * 10);
}

#[test]
fn equal_tables_are_one_whatever_they_map() {
    let text = |second: &str| {
        format!(
            "relief version=1\ncanvas width=9 height=9 depth=16\ncompose {{
                (base)map {{ (source)noise seed=1; gamma 2.2 }}
                (max)map {{ (source)noise seed=2; {second} }}
            }}"
        )
    };
    let tables = |second| {
        let plan = Plan::new(&parse(&text(second)), &NoImages, &Options::default()).unwrap();
        plan.peak().tables
    };
    assert_eq!(tables("gamma 2.2"), 2 * 65_536);
    assert_eq!(tables("gamma 2.3"), 4 * 65_536);
}

/// A pattern of a quarter of a gigapixel, each sample of which looks at 201 × 201 others.
const LARGE_PATTERN: &str = r#"
relief version=1
canvas width=1000000 height=1000000
compose {
    (base)lattice blend="max" {
        u 16384 0
        v 0 16384
        (pattern)distance radius=100 width=16384 height=16384 {
            (mask)threshold level=255 { (source)noise seed=1 }
            profile "20 * d" beyond=255
        }
    }
    (mean)repeat step-x=16400 step-y=16400 {
        (pattern)distance radius=100 width=16384 height=16384 {
            (mask)threshold level=255 { (source)noise seed=2 }
            profile "20 * d" beyond=255
        }
    }
}
"#;

#[test]
fn a_pattern_is_computed_only_as_far_as_a_window_reads_it() {
    let design = parse(LARGE_PATTERN);
    // Within a copy, and where four copies meet.
    for place in [(20_000, 20_000), (16_384 * 3 - 50, 16_384 * 5 - 60)] {
        let region = |kept| {
            Options::default()
                .with(|with| with.region = Rect::new(place.0, place.1, 256, 256))
                .with(|with| with.kept = kept)
                .threads(2)
        };
        let plan = Plan::new(&design, &NoImages, &region(None)).unwrap();
        assert!(plan.peak().kept <= 4 * 256 * 256, "{:?}", plan.peak());
        let few = Renderer::new(plan, &NoImages, &Cancel::new()).unwrap();
        let none = renderer(&design, &NoImages, &region(Some(0)));
        assert_eq!(rendered(&few).unwrap(), rendered(&none).unwrap());
    }
}

#[test]
fn a_pattern_that_many_copies_show_a_part_of_is_kept_as_far_as_they_show_it() {
    // Strips: every copy shows the upper left of its pattern to the raster.
    let text = r#"
        relief version=1
        canvas width=300 height=20
        compose {
            (base)lattice blend="max" {
                u 3 0
                v 0 10000
                (pattern)noise seed=5 width=100 height=9000
            }
        }"#;
    let many = renderer(&parse(text), &NoImages, &Options::default().kept(1 << 20));
    let kept = many.plan().peak().kept;
    assert_eq!(kept, 100 * 20);
    let none = renderer(&parse(text), &NoImages, &Options::default().kept(0));
    assert_eq!(rendered(&many).unwrap(), rendered(&none).unwrap());
    let corner = Rect::new(290, 10, 10, 10).unwrap();
    assert_eq!(window(&many, corner).unwrap(), window(&none, corner).unwrap());
}
