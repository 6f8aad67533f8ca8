//! What people get wrong at first, and what they are told.

use std::fs;

use tempfile::TempDir;

use crate::process::{names, run, run_with, written};

const SMALL: &str = "relief version=1\ncanvas width=64 height=48\nfill value=37\n";

#[test]
fn one_bit_of_grays_leaves_nothing_and_says_what_would_work() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    let out = TempDir::new().unwrap();
    for (name, more) in [
        ("a.tif", &[][..]),
        ("a.tif", &["--compress", "g4"]),
        ("a.tif", &["--share"]),
        ("a.tif", &["--file-tile", "16x16", "--part", "0/3"]),
        ("a.png", &[]),
        ("a.bmp", &[]),
    ] {
        let path = out.path().join(name);
        let job = ["render", &design, "-o", path.to_str().unwrap(), "--bits", "1"];
        let ended = run(&[&job[..], more].concat());
        ended.failed(1, "is 37, and one bit holds 0 and 255 alone");
        assert!(!ended.err.contains("goes on"), "{ended:?}");
        assert_eq!(names(out.path()), [""; 0], "{name} {more:?}");
        // What it says works, to the same file.
        ended.failed(1, "`--halftone blue-noise`");
        ended.failed(1, "`--halftone threshold:128`");
        let more = if more.contains(&"--share") { &[] } else { more };
        run(&[&job[..], more, &["--halftone", "threshold:128", "-q"]].concat()).done();
        for name in names(out.path()) {
            fs::remove_file(out.path().join(name)).unwrap();
        }
    }
}

#[test]
fn tiles_that_are_right_do_not_keep_a_file_that_cannot_be_completed() {
    let folder = TempDir::new().unwrap();
    // The last pixel alone is gray.
    let text = "relief version=1\ncanvas width=640 height=480\ncompose {\n    (base)fill value=255\n    (base)fill value=9 x=639 y=479 width=1 height=1\n}\n";
    let design = written(&folder, text);
    let out = folder.path().join("a.tif");
    let job = [
        "render",
        &design,
        "-o",
        out.to_str().unwrap(),
        "--bits",
        "1",
        "--file-tile",
        "64x64",
    ];
    for threads in ["1", "4"] {
        run(&[&job[..], &["--threads", threads]].concat()).failed(1, "pixel (639, 479) is 9");
        assert_eq!(names(folder.path()), ["design.kdl"]);
    }
    // Parts that others wrote stay, and nobody is told to go on with this one.
    run(&[&job[..], &["--part", "0/2", "-q"]].concat()).done();
    let ended = run(&[&job[..], &["--part", "1/2"]].concat());
    ended.failed(1, "pixel (639, 479) is 9");
    assert!(!ended.err.contains("goes on"), "{ended:?}");
    assert_eq!(names(folder.path()), ["a.tif.partial", "design.kdl"]);
    // It is of another job, and what is said removes it.
    let ended = run(&[&job[..], &["--halftone", "bayer:2"]].concat());
    ended.failed(1, "is the unfinished file of another job");
    let command = ended.err.split('`').find(|part| part.starts_with("rm ")).unwrap();
    assert_eq!(command, format!("rm {}.partial", out.display()));
    assert!(
        std::process::Command::new("sh")
            .args(["-c", command])
            .status()
            .unwrap()
            .success()
    );
    run(&[&job[..], &["--halftone", "bayer:2", "-q"]].concat()).done();
}

#[test]
fn the_command_that_clears_an_unfinished_folder_may_have_any_name() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    let out = folder.path().join("it's a store.zarr");
    let job = [
        "render",
        &design,
        "-o",
        out.to_str().unwrap(),
        "--file-tile",
        "16x16",
    ];
    run(&[&job[..], &["--part", "0/2", "-q"]].concat()).done();
    let ended = run(&[&job[..], &["--region", "0,0,32x32"]].concat());
    ended.failed(1, "unfinished file of another job");
    let command = ended.err.split('`').find(|part| part.starts_with("rm ")).unwrap();
    assert!(command.starts_with("rm -r '"), "{command}");
    assert!(
        std::process::Command::new("sh")
            .args(["-c", command])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

#[test]
fn warnings_are_shown_by_check_and_counted_elsewhere() {
    let folder = TempDir::new().unwrap();
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"20\"><text>a</text><text>b</text><rect width=\"9\" height=\"9\"/></svg>";
    fs::write(folder.path().join("a.svg"), svg).unwrap();
    let design = written(
        &folder,
        "relief version=1\ncanvas width=20 height=20\nsvg \"a.svg\" width=20 height=20 gray=\"ink\"\n",
    );
    let shown = run(&["check", &design]);
    assert_eq!(shown.err.matches("W210").count(), 2, "{shown:?}");
    let prepared = folder.path().join("a.prepared");
    let packed = folder.path().join("a.relief");
    let prepared = prepared.to_str().unwrap();
    let packed = packed.to_str().unwrap();
    let line = format!("relief: 2 warnings; `relief check {design}` shows them\n");
    for command in [
        &["plan", &design][..],
        &["digest", &design],
        &["render", &design, "-f", "null"],
        &["why", &design, "0", "0"],
        &["stats", &design],
        &["prepare", &design, "-o", prepared],
        &["pack", &design, "-o", packed],
        &["diff", &design, packed],
    ] {
        let ended = run(command);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let lines = line.as_str();
        assert!(ended.err.starts_with(lines), "{command:?}: {}", ended.err);
        assert!(!ended.err.contains("W210"), "{command:?}");
    }
    for command in [
        &["digest", &design, "-q"][..],
        &["render", &design, "-f", "null", "-q"],
        &["stats", &design, "--json"],
        &["diff", &design, packed, "--json"],
    ] {
        assert_eq!(run(command).err, "", "{command:?}");
    }
    for command in [
        &["plan", &design, "--json"][..],
        &["why", &design, "0", "0", "--json"],
    ] {
        let told: serde_json::Value = serde_json::from_slice(&run(command).done()).unwrap();
        assert_eq!(told["warnings"], 2);
    }
    // With values the warnings may be others.
    let text = "relief version=1\nparameter \"v\" 1\ncanvas width=3 height=2 depth=16\nfill value=$v\n";
    let design = written(&folder, text);
    let ended = run(&["plan", &design, "--set", "v=2"]);
    assert_eq!(
        ended.err,
        format!("relief: 1 warning; `relief check {design}` with the same values shows it\n")
    );
    run(&["plan", &design, "--deny", "warnings"]).failed(3, "W101");
}

#[test]
fn sizes_without_a_unit_are_questioned_everywhere() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    for command in [
        &["plan", &design][..],
        &["digest", &design],
        &["why", &design, "0", "0"],
        &["stats", &design],
        &["render", &design, "-f", "null"],
        &["prepare", &design, "-o", "/dev/null"],
        &["stream", &design, "file:/dev/null", "--raw"],
    ] {
        let ended = run(&[command, &["--memory", "20"]].concat());
        ended.failed(4, "20 bytes: did you mean 20MiB?");
        ended.failed(4, "would do");
        let ended = run(&[command, &["--memory", "20kB"]].concat());
        assert!(!ended.err.contains("did you mean"), "{ended:?}");
    }
    for command in [
        &["plan", &design, "--look-ahead", "20"][..],
        &["stream", &design, "file:x", "--look-ahead", "20"],
        &["receive", "--buffer", "20"],
        &["receive", "--largest", "20"],
    ] {
        let ended = run(command);
        ended.failed(2, "20 bytes: did you mean 20MiB?");
        ended.failed(2, "20B says that it is meant");
    }
    #[cfg(feature = "view")]
    run(&["view", &design, "--memory", "20"])
        .failed(2, "16 MiB at least; --memory is 20 bytes: did you mean 20MiB?");
    let vulkan = ["digest", &design, "--device", "vulkan:0", "--device-memory", "20"];
    let ended = run(&vulkan);
    if !ended.err.contains("no vulkan") {
        assert!(
            ended
                .err
                .contains("--device-memory is 20 bytes: did you mean 20MiB?"),
            "{ended:?}"
        );
    }
    // What reading a drawing takes is found by trying.
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"20\"><rect width=\"9\" height=\"9\"/></svg>";
    fs::write(folder.path().join("a.svg"), svg).unwrap();
    let text = "relief version=1\ncanvas width=20 height=20\nsvg \"a.svg\" width=20 height=20 gray=\"ink\"\n";
    let design = written(&folder, text);
    let ended = run(&["plan", &design, "--memory", "20"]);
    ended.failed(4, "E510");
    ended.failed(4, "20 bytes: did you mean 20MiB?");
    let least = ended.err.split("MiB? ").nth(1).unwrap();
    let (number, unit) = least.split_once(' ').unwrap();
    let least = format!(
        "{}{}",
        number.trim_end_matches(".0"),
        unit.split(' ').next().unwrap()
    );
    assert!(
        !run(&["plan", &design, "--memory", &least]).err.contains("E510"),
        "{least}"
    );
}

#[test]
fn a_folder_in_the_place_of_a_file_is_called_one() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    let path = folder.path().to_str().unwrap();
    for (out, more) in [
        (path.to_owned(), &[][..]),
        (format!("{path}/"), &[]),
        (format!("{path}/new/"), &["--compress", "deflate"]),
    ] {
        let ended = run(&[&["render", &design, "-o", &out], more].concat());
        ended.failed(2, "it is a folder; name a file in it, such as");
        assert!(ended.err.trim_end().ends_with("/design.tif"), "{ended:?}");
        run(&["plan", &design, "-o", &out]).failed(2, "it is a folder");
    }
    let ended = run(&["render", &design, "-o", path, "--passes", "even:2"]);
    ended.failed(2, "say of which format by --format");
    run(&["render", &design, "-f", "raw", "-o", path]).failed(1, "it is a folder");
    run(&["pack", &design, "-o", path]).failed(1, "it is a folder");
    run(&["prepare", &design, "-o", path]).failed(1, "it is a folder");
    assert_eq!(names(folder.path()), ["design.kdl"]);
}

#[test]
fn the_parts_of_a_plan_add_up_to_its_peak() {
    let folder = TempDir::new().unwrap();
    let png = folder.path().join("a.png");
    let design = written(
        &folder,
        "relief version=1\ncanvas width=700 height=500\nnoise seed=1\n",
    );
    run(&["render", &design, "-q", "-o", png.to_str().unwrap()]).done();
    let text = "relief version=1\ncanvas width=1500 height=900\ncompose {\n    (base)repeat step-x=700 step-y=500 { (pattern)image \"a.png\" }\n    (max)equalise { (source)gauss sigma=3 { (source)image \"a.png\" } }\n}\n";
    let design = written(&folder, text);
    let out = folder.path().join("out.tif");
    let out = out.to_str().unwrap();
    for options in [
        &[][..],
        &["--threads", "3"],
        &["--memory", "12MiB"],
        &["-o", out, "--compress", "deflate"],
        &["-o", out, "--level", "3"],
    ] {
        let job = [&["plan", &design, "--device", "cpu"], options].concat();
        let told: serde_json::Value =
            serde_json::from_slice(&run(&[&job[..], &["--json"]].concat()).done()).unwrap();
        let (parts, phases) = (&told["memory"], &told["phases"]);
        let of = |phase: &str, how: &str| -> Vec<u64> {
            let names = phases[phase][how].as_array().unwrap();
            names
                .iter()
                .map(|name| parts[name.as_str().unwrap()].as_u64().unwrap())
                .collect()
        };
        let (always, before, then) = (
            of("always", "sum_of"),
            of("before_bands", "largest_of"),
            of("bands", "sum_of"),
        );
        assert_eq!(
            always.len() + before.len() + then.len(),
            parts.as_object().unwrap().len()
        );
        let (always, before, then): (u64, u64, u64) = (
            always.iter().sum(),
            before.into_iter().max().unwrap(),
            then.iter().sum(),
        );
        assert_eq!(phases["always"]["bytes"], always);
        assert_eq!(phases["before_bands"]["bytes"], before);
        assert_eq!(phases["bands"]["bytes"], then);
        assert_eq!(told["peak_bytes"], always + before.max(then), "{options:?}");
        // Each line of the text says when it stands.
        let text = String::from_utf8(run(&job).done()).unwrap();
        let lines = text.lines().skip_while(|line| !line.starts_with("memory"));
        for line in lines.skip(1).take_while(|line| line.starts_with("         ")) {
            let when = [
                "all the time",
                "before the first band",
                "while bands are computed",
            ];
            assert!(
                line.contains("written")
                    || line.contains("free")
                    || line.contains("tiles")
                    || when.iter().any(|when| line.contains(when)),
                "{line}"
            );
        }
    }
}

#[test]
fn units_of_other_sizes_are_told_by_what_they_are() {
    let of = |width: &str| {
        format!("relief version=1\ncanvas width=\"{width}\" height=10 pixel=\"1mm\"\nfill value=1\n")
    };
    for (width, says) in [
        ("3km", "a kilometre is 1000m; units are"),
        ("3dm", "a decimetre is 10cm"),
        ("30microns", "a micrometre is um"),
        ("3inches", "an inch is in"),
        ("3feet", "a foot is 12in"),
    ] {
        let ended = run_with(&["check", "-"], &of(width));
        ended.failed(3, says);
        assert!(!ended.err.contains("did you mean"), "{}", ended.err);
    }
    // Any of several may be meant by two letters.
    let ended = run_with(&["check", "-"], &of("3qm"));
    ended.failed(3, "units are pm, nm, um, mm, cm, m");
    assert!(!ended.err.contains("did you mean"), "{}", ended.err);
    let design = "logo/design.kdl";
    run(&["plan", design, "--region", "0,0,1kmx1mm"]).failed(2, "a kilometre is 1000m");
}

#[test]
fn an_unknown_word_is_guessed_and_not_answered_by_all_words() {
    let of = |word: &str| {
        format!("relief version=1\ncanvas width=9 height=9\ncompose {{\n    (base){word} value=1\n}}\n")
    };
    for (word, says) in [
        ("fil", "did you mean `fill`? `relief nodes` lists all of them"),
        ("circle", "a circle is `disc`"),
        ("sprocket", "nodes are `fill`, `image`"),
    ] {
        let ended = run_with(&["check", "-"], &of(word));
        ended.failed(3, says);
        ended.failed(3, "`relief nodes`");
        assert!(!ended.err.contains("bilateral"), "{}", ended.err);
    }
    let ended = run_with(
        &["check", "-"],
        "relief version=1\ncanvas width=9 height=9\ncompos { }\n",
    );
    ended.failed(3, "did you mean `compose`? `relief nodes` lists all of them");
    assert!(!ended.err.contains("bilateral"), "{}", ended.err);
}

#[test]
fn what_a_design_is_made_of_is_no_design() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    let png = folder.path().join("photo.png");
    run(&["render", &design, "-q", "-o", png.to_str().unwrap()]).done();
    let png = png.to_str().unwrap();
    let ended = run(&["check", png]);
    ended.failed(1, "it seems to be a PNG picture");
    ended.failed(1, "image \"photo.png\"; `relief nodes image` tells more");
    for (name, bytes, says) in [
        (
            "mask.gds",
            &b"\x00\x06\x00\x02\x02\x58"[..],
            "a line such as gds \"mask.gds\"",
        ),
        ("mask", b"%SEMI-OASIS\r\n\x01", "oasis \"mask\""),
        ("a.svg", b"<svg/>", "svg \"a.svg\""),
        ("a.dxf", b"  0\nSECTION\n", "dxf \"a.dxf\""),
        ("a.gbr", b"G04 board*\n", "gerber \"a.gbr\""),
        ("a.stl", b"solid a\n", "mesh \"a.stl\""),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap();
        for command in [
            &["check", path][..],
            &["plan", path],
            &["render", path, "-f", "null"],
        ] {
            run(command).failed(1, says);
        }
    }
    // The line that is told draws the picture.
    let line = ended
        .err
        .split("such as ")
        .nth(1)
        .unwrap()
        .split("; `")
        .next()
        .unwrap();
    let design = written(
        &folder,
        &format!("relief version=1\ncanvas width=64 height=48\n{line}\n"),
    );
    assert!(
        run(&["render", &design, "-f", "raw", "-o", "-"])
            .done()
            .iter()
            .all(|&sample| sample == 37)
    );
    let ended = run(&["check", folder.path().to_str().unwrap()]);
    ended.failed(
        1,
        &format!("it is a folder; a design is a file, such as {design}"),
    );
}

#[test]
fn files_that_are_not_there_have_neighbours() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    let png = folder.path().join("photo.png");
    run(&["render", &design, "-q", "-o", png.to_str().unwrap()]).done();
    fs::write(
        folder.path().join("logo.svg"),
        "<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
    )
    .unwrap();
    let wrong = folder.path().join("desing.kdl");
    let ended = run(&["check", wrong.to_str().unwrap()]);
    ended.failed(1, &format!("did you mean {design}?"));
    fs::write(folder.path().join("rows.csv"), "v\n1\n").unwrap();
    let rows = folder.path().join("row.csv");
    run(&["check", &design, "--each", rows.to_str().unwrap()]).failed(1, "rows.csv?");
    run(&["plan", &design, "--prepared", rows.to_str().unwrap()]).failed(1, "rows.csv?");
    for (node, near) in [
        ("image \"foto.png\"", "did you mean photo.png?"),
        ("image \"photo.jpg\"", "did you mean photo.png?"),
        ("image \"./photos.png\"", "did you mean photo.png?"),
        ("svg \"lgo.svg\" width=5 height=5", "did you mean logo.svg?"),
    ] {
        let design = written(
            &folder,
            &format!("relief version=1\ncanvas width=64 height=48\n{node}\n"),
        );
        run(&["check", &design]).failed(3, near);
        let confined = folder.path().to_str().unwrap();
        run(&["check", &design, "--confined", confined]).failed(3, near);
    }
    // Outside of its folder nothing is looked at.
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let design = inner.join("design.kdl");
    fs::write(
        &design,
        "relief version=1\ncanvas width=64 height=48\nimage \"../foto.png\"\n",
    )
    .unwrap();
    let ended = run(&[
        "check",
        design.to_str().unwrap(),
        "--confined",
        inner.to_str().unwrap(),
    ]);
    assert_eq!(ended.code, Some(3));
    assert!(!ended.err.contains("photo"), "{}", ended.err);
}

#[test]
fn counts_may_be_powers() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    for effort in ["1e9", "2^30", "1_000_000"] {
        run(&["stats", &design, "--effort", effort, "-q"]).done();
    }
    run(&["stats", &design, "--effort", "lots"]).failed(2, "1e9 or 2^30");
    run(&["stats", &design, "--cost", "1e99"]).failed(2, "is more than");
    run(&["diff", &design, &design, "--cost", "2^49"]).failed(2, "0 to 2^48");
}

#[test]
fn lengths_are_told_with_as_many_digits_as_say_something() {
    let text =
        "relief version=1\ncanvas width=9 height=9 pixel=\"3um\"\nfill value=1 width=\"50mm\" height=9\n";
    let ended = run_with(&["check", "-"], text);
    ended.failed(3, "this length is 16666.667 pixels, which is not a whole number");
}

#[test]
fn a_pixel_that_is_not_there_is_no_region() {
    let ended = run(&["why", "logo/design.kdl", "30000", "1"]);
    ended.failed(2, "there is no pixel 30000, 1 on the canvas of 2000×1200 pixels");
    ended.failed(2, "columns are 0 to 1999, rows 0 to 1199");
    assert!(!ended.err.contains("region"), "{}", ended.err);
}

#[test]
fn a_file_that_is_not_there_is_named_as_it_was_asked_for() {
    let folder = TempDir::new().unwrap();
    let design = written(&folder, SMALL);
    let path = folder.path().join("never.tif");
    let ended = run(&["verify", &design, path.to_str().unwrap()]);
    ended.failed(1, "never.tif has: there is no such file");
    ended.failed(1, "never.tif.partial");
}

#[test]
fn a_receiver_says_where_it_can_listen() {
    for address in ["file:job.rlf", "8080", "http://127.0.0.1:1"] {
        let ended = run(&["receive", "--listen", address]);
        ended.failed(2, "tcp://HOST:PORT, tls://HOST:PORT or unix:/PATH is expected");
        assert!(!ended.err.contains("file:/PATH"), "{ended:?}");
    }
}

#[test]
fn a_side_without_a_unit_beside_lengths_is_asked_about() {
    let folder = TempDir::new().unwrap();
    let text = "relief version=1\ncanvas width=64 height=48 pixel=\"1mm\"\nfill value=37\n";
    let design = written(&folder, text);
    let of = |region: &str| run(&["digest", &design, "--region", region, "-q"]);
    of("0,0,20mmx10").failed(2, "10 has none; write 10px");
    of("0,5,20mmx10mm").failed(2, "5 has none; write 5px");
    assert_eq!(of("0,5px,20mmx10px").done(), of("0,5,20x10").done());
}
