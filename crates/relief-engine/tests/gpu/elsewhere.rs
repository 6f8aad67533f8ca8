//! Nodes that read beyond or elsewhere than where they lie: means over all edges, mirrored and turned sources, on strips and far out.

use relief_engine::{Options, Plan, Rect};

use crate::compare::{agree, both, canvas, on, with};
use crate::device::device;

const EDGES: [&str; 4] = ["clamp", "mirror", "wrap", "zero"];

const STEPS: [&str; 5] = [
    "flip axis=\"x\"",
    "flip axis=\"y\"",
    "turn quarters=1",
    "turn quarters=2",
    "turn quarters=3",
];

#[test]
fn a_gauss_reads_farther_than_its_bands_and_strips_are_high() {
    for edge in EDGES {
        for rows in [1, 3] {
            let options = Options::default().tile((64, rows));
            let of = |sigma: &str, source: &str| {
                format!("gauss sigma={sigma} edge=\"{edge}\" {{ (source){source} }}")
            };
            // R = 24, of a source that a kernel of its own computes and that has a halo as well.
            let spots = "distance radius=6 { (mask)image \"p3\" x=4 y=9; profile \"$M - d * $Q\" }";
            with(61, 73, &of("6", spots), &options);
            // R = 8 of R = 4, over something that is read at its own place.
            let twice = of("2", &of("1", "noise seed=5 x=3 y=-4 width=50 height=80"));
            let over = format!("compose {{ (base)noise seed=1; (mean){twice} }}");
            with(61, 73, &over, &options);
        }
    }
}

#[test]
fn a_gauss_of_the_greatest_sigma_is_that_of_the_cpu() {
    for edge in EDGES {
        both(
            97,
            41,
            &format!(
                "gauss sigma=64 edge=\"{edge}\" {{ (source)threshold level=$H {{ (source)noise seed=7 }} }}"
            ),
        );
    }
}

#[test]
fn a_gauss_of_nothing_and_of_what_is_the_same_everywhere() {
    for edge in EDGES {
        let gauss = |source: &str| format!("gauss sigma=3 edge=\"{edge}\" {{ (source){source} }}");
        both(45, 31, &gauss("fill value=0"));
        both(45, 31, &gauss("fill value=$M"));
        both(45, 31, &gauss("image \"p2\" x=20 y=11"));
        both(45, 31, &gauss("image \"p0\" x=200 y=11"));
        both(45, 31, &gauss("fill value=$H x=9 y=7 width=11 height=90"));
    }
}

#[test]
fn mirrored_and_turned_sources_of_every_kind() {
    let sources = [
        "fill value=$H x=2 y=1 width=40 height=20",
        "ramp axis=\"x\" from=3 to=$M x=5 width=30",
        "ramp axis=\"y\" from=$M to=9 y=3 height=19",
        "disc diameter=23 value=$M x=-4 y=3",
        "image \"p0\" x=11 y=5",
        "repeat step-x=23 { (pattern)image \"p0\" x=4 }",
        "lattice blend=\"max\" { u 19 2; v -3 17; (pattern)image \"p1\" }",
        "gauss sigma=1.5 { (source)noise seed=3 }",
        "map { invert; (source)image \"p3\" }",
        "equalise { (source)image \"p0\" }",
        "formula \"M * u / w\" { let \"u\" \"x\" }",
        "formula \"a * y / h + x\" { (source)image \"p0\" x=3 y=5 name=\"a\" }",
    ];
    for step in STEPS {
        for source in sources {
            both(71, 43, &format!("{step} {{ (source){source} }}"));
        }
    }
}

#[test]
fn mirrors_in_turns_in_mirrors_on_strips_of_any_height() {
    let spots = "distance radius=6 { (mask)image \"p3\" x=4 y=9; profile \"$M - d * $Q\" }";
    for rows in [1, 5] {
        let options = Options::default().tile((64, rows));
        for outer in STEPS {
            for inner in STEPS {
                let root = format!(
                    "compose {{ (base)noise seed=1; (mean){outer} x=3 y=-2 width=50 height=60 {{ (source){inner} x=1 {{ (source){spots} }} }} }}"
                );
                with(61, 73, &root, &options);
            }
        }
    }
}

/// A subtree that is read at its own place, mirrored and turned: one plane serves all of them.
#[test]
fn what_is_read_at_several_places_is_the_same_at_each() {
    let spots = "define \"spots\" { gauss sigma=2 { (source)image \"p3\" x=4 y=9 } }";
    for rows in [1, 9] {
        let options = Options::default().tile((64, rows));
        let root = format!(
            "{spots}\ncompose {{ (base)use \"spots\"; (max)flip axis=\"x\" {{ (source)use \"spots\" }}; (add)turn quarters=1 {{ (source)use \"spots\" x=7 }}; (mean)turn quarters=2 {{ (source)use \"spots\" }} }}"
        );
        with(61, 61, &root, &options);
    }
}

/// What the host holds for a design is what it holds for one that a fused kernel computes: no plane passes through it.
#[test]
fn devices_compute_filters_mirrors_and_turns_themselves() {
    let Some(device) = device() else { return };
    let bands = |root: &str| {
        let (design, images) = canvas(301, 203, 16, root);
        let plan = Plan::new(&design, &images, &on(device, &Options::default())).unwrap();
        plan.peak().bands
    };
    let alone = bands("noise seed=4");
    for edge in EDGES {
        for filter in [
            "gauss sigma=5",
            "box radius=5",
            "erode radius=3",
            "dilate radius=3 shape=\"disc\"",
            "median radius=1",
            "sobel",
        ] {
            let root = format!("{filter} edge=\"{edge}\" {{ (source)noise seed=4 }}");
            assert_eq!(bands(&root), alone, "{root}");
        }
    }
    for step in STEPS {
        let root = format!("{step} {{ (source)noise seed=4 }}");
        assert_eq!(bands(&root), alone, "{root}");
    }
}

/// Plans a design for a device as it is and with the first of ever fewer bytes with which the host computes a part of it; the samples are
/// the same. A device may first do with fewer and smaller bands under way: how much fewer depends on the device.
fn left_to_the_host(root: &str) {
    let Some(device) = device() else { return };
    for depth in [8, 16] {
        let (design, images) = canvas(131, 997, depth, root);
        let options = |device_memory| {
            Options::default()
                .tile((64, 4))
                .with(|with| with.device_memory = device_memory)
        };
        let plan = |device_memory| {
            let there = Plan::new(&design, &images, &on(device, &options(device_memory))).ok()?;
            let by_host = there.nodes().iter().any(|node| node.by_host.is_some());
            Some((there.device()?.bytes, by_host))
        };
        let (whole, by_host) = plan(None).unwrap();
        assert!(!by_host, "{root}: the host computes a part of it as it is");
        let left = |less: &u64| {
            plan(Some(*less)).is_some_and(|(bytes, by_host)| {
                assert!(bytes <= *less, "{root}: {bytes} of {less}");
                by_host
            })
        };
        // From 99 % on, each 1 % less than the one before.
        let fewer = std::iter::successors(Some(whole - 1), |less| Some(less / 100 * 99));
        let less = fewer.take_while(|less| *less > 999).find(|less| left(less));
        let less = less.unwrap_or_else(|| panic!("{root}: the host computes nothing"));
        for memory in [Some(less), None] {
            agree(device, &design, &images, &options(memory))
                .unwrap_or_else(|error| panic!("{root}: {error}"));
        }
    }
}

/// The other border is read near one of them, so that a device would have to hold the whole source; where it does not, the host computes
/// the mean.
#[test]
fn a_mean_that_wraps_is_left_to_the_host_where_a_device_does_not_hold_its_source() {
    let roots = [
        "gauss sigma=1 edge=\"wrap\" { (source)noise seed=4 }",
        "compose { (base)noise seed=1; (mean)gauss sigma=1 edge=\"wrap\" { (source)turn quarters=1 { (source)noise seed=3 } } }",
    ];
    for root in roots {
        left_to_the_host(root);
    }
}

#[test]
fn turns_are_left_to_the_host_where_a_device_has_no_room_for_their_source() {
    let roots = [
        "turn quarters=1 { (source)noise seed=3 }",
        "turn quarters=3 { (source)flip axis=\"x\" { (source)noise seed=3 } }",
    ];
    for root in roots {
        left_to_the_host(root);
    }
}

/// The first columns read the last ones, and no kernel writes all between them at once, though a device may hold them.
#[test]
fn sources_wider_than_a_kernel_writes_are_left_to_the_host() {
    let Some(device) = device() else { return };
    for depth in [8, 16] {
        let root = "gauss sigma=1 edge=\"wrap\" { (source)noise seed=4 }";
        let (design, images) = canvas(1 << 28, 3, depth, root);
        let options = Options::default().with(|with| with.region = Rect::new(0, 0, 19, 3));
        agree(device, &design, &images, &options).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Devices that were not named are left alone where they would wait for the host, and where no plan for them fits.
#[test]
fn devices_that_would_wait_for_the_host_are_left_alone() {
    let Some(device) = device() else { return };
    let cases = [
        ("noise seed=1", true),
        (
            "compose { (base)noise seed=1; (max)perlin size=32 seed=2 }",
            false,
        ),
        ("gauss sigma=3 { (source)noise seed=2 }", true),
        (
            "affine angle=30 { (source)gauss sigma=3 { (source)noise seed=1 } }",
            false,
        ),
    ];
    for (root, on_device) in cases {
        let (design, images) = canvas(300, 200, 8, root);
        let named = on(device, &Options::default());
        let plan = |options: &Options| Plan::new(&design, &images, options).unwrap();
        assert!(plan(&named).device().is_some(), "{root}");
        assert_eq!(
            plan(&named.clone().or_cpu()).device().is_some(),
            on_device,
            "{root}"
        );
        // None of its bands fits so little.
        let little = named.device_memory(64);
        assert!(Plan::new(&design, &images, &little).is_err(), "{root}");
        assert!(plan(&little.or_cpu()).device().is_none(), "{root}");
    }
}

/// What the host computes for every band, it computes once: tiles of what it reads stay in the cache.
#[test]
fn the_host_keeps_tiles_of_what_it_computes_for_a_device() {
    let Some(device) = device() else { return };
    let root = "bilateral sigma=2 range=20 { (source)perlin size=32 seed=1 }";
    let (design, images) = canvas(4096, 4096, 8, root);
    let options = Options::default();
    let cache = |options: &Options| Plan::new(&design, &images, options).unwrap().peak().cache;
    let (alone, for_device) = (cache(&options), cache(&on(device, &options)));
    assert!(for_device * 2 > alone, "{for_device} of {alone} bytes");
}

/// A node of the host that repeats is kept where it lies wholly in its extent; a kernel reads it there, and beyond.
#[test]
fn a_cell_of_a_node_of_the_host_is_read_by_a_kernel() {
    let Some(device) = device() else { return };
    let root =
        "median radius=1 rank=1 { (source)worley seed=7 size=14 period-y=1 of=\"cell\" x=14 height=18 }";
    for depth in [8, 16] {
        let (design, images) = canvas(18, 9, depth, root);
        agree(device, &design, &images, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    }
}
