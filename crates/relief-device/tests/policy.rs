//! A policy file is advice: what it says holds where it can, and nothing it says can do harm.
//!
//! One test, because what is loaded holds for the whole process.

use relief_device::policy::{Policies, Space, Tuning, device_key, load, tuning};
use relief_device::{DeviceId, DeviceReport};

const SPACE: Space = Space {
    units: &[64, 256],
    items: &[1, 4],
    vectors: &[4],
};

const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 1,
    vector: 4,
};

fn device(name: &str) -> DeviceReport {
    DeviceReport {
        id: DeviceId::Cuda(3),
        name: name.to_owned(),
        driver: "CUDA 13.0".to_owned(),
        software: false,
        memory: None,
        bandwidth: None,
        multiprocessors: None,
        plane: (32, 32),
        largest_buffer: 1 << 30,
        shared_memory: 32 << 10,
        cubes: 65_535,
        bindings: 8,
    }
}

#[test]
fn a_file_holds_for_its_device_and_its_kernel_within_the_space_and_else_the_default_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policies");
    let found = Tuning {
        units: 64,
        items: 4,
        vector: 4,
    };
    let mut policies = Policies::default();
    let key = device_key(&device("A"));
    policies.set(&key, "copy", found);
    policies.set(
        &key,
        "huge",
        Tuning {
            units: 100_000,
            ..found
        },
    );
    std::fs::write(&path, policies.to_string()).unwrap();

    let of = |name: &str, kernel: &str| tuning(&device(name), kernel, &SPACE, DEFAULT);
    assert_eq!(of("A", "copy"), DEFAULT, "nothing is loaded yet");
    assert!(load(&path));
    assert_eq!(of("A", "copy"), found);
    assert_eq!(of("B", "copy"), DEFAULT, "another device");
    assert_eq!(of("A", "table"), DEFAULT, "another kernel");
    assert_eq!(of("A", "huge"), DEFAULT, "a layout outside the space");

    for broken in [
        "",
        "relief policies 2\n",
        "relief policies 1\ngarbage\n",
        "\u{0}\u{1}",
    ] {
        std::fs::write(&path, broken).unwrap();
        assert!(!load(&path), "{broken:?}");
        assert_eq!(of("A", "copy"), DEFAULT);
    }
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert!(!load(&path), "not text");
    assert!(!load(&folder.path().join("none")), "a missing file");
    assert!(!load(folder.path()), "a folder");
    assert_eq!(of("A", "copy"), DEFAULT);
}
