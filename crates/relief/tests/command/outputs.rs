//! One raster in every format, to a file and to the standard output.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use tiff::decoder::{Decoder, DecodingResult};

use crate::process::{examples, names, relief, run};

/// A part of every example that is cheap, with its depth.
const PARTS: [(&str, &str, usize); 5] = [
    ("label/design.kdl", "1,2,300x70", 2),
    ("lenses/design.kdl", "2800,1900,200x100", 2),
    ("logo/design.kdl", "500,300,201x99", 1),
    ("sheet/design.kdl", "1000000,900000,301x77", 1),
    ("texture/design.kdl", "0,0,64x64", 1),
];

fn raw(design: &str, region: &str) -> Vec<u8> {
    run(&["render", design, "--region", region, "-o", "-"]).done()
}

/// Samples of this many bytes, as numbers.
fn numbers(bytes: &[u8], size: usize, big: bool) -> Vec<u16> {
    bytes
        .chunks(size)
        .map(|bytes| match *bytes {
            [one] => u16::from(one),
            [high, low] if big => u16::from_be_bytes([high, low]),
            [low, high] => u16::from_le_bytes([low, high]),
            _ => unreachable!("samples have one byte or two"),
        })
        .collect()
}

fn pgm(bytes: &[u8], size: usize) -> Vec<u16> {
    let mut fields = bytes.splitn(4, |byte| byte.is_ascii_whitespace());
    assert_eq!(fields.next(), Some(&b"P5"[..]));
    let (_, _, rest) = (fields.next(), fields.next(), fields.next().unwrap());
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap();
    numbers(&rest[end + 1..], size, true)
}

fn png(bytes: &[u8], size: usize) -> Vec<u16> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut samples).unwrap();
    numbers(&samples, size, true)
}

fn tiff(bytes: &[u8]) -> Vec<u16> {
    match Decoder::new(std::io::Cursor::new(bytes))
        .unwrap()
        .read_image()
        .unwrap()
    {
        DecodingResult::U8(samples) => samples.into_iter().map(u16::from).collect(),
        DecodingResult::U16(samples) => samples,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_format_holds_the_same_samples_as_the_digest() {
    for (design, region, size) in PARTS {
        let samples = numbers(&raw(design, region), size, false);
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let digest = format!("{}\n", blake3::hash(&bytes));
        assert_eq!(
            String::from_utf8(run(&["digest", design, "--region", region]).done()).unwrap(),
            digest
        );
        let folder = tempfile::tempdir().unwrap();
        for extension in ["raw", "pgm", "png", "tiff", "tif"] {
            let path = folder.path().join(format!("out.{extension}"));
            let path = path.to_str().unwrap();
            let said = run(&["render", design, "--region", region, "-o", path, "--digest"]).done();
            assert_eq!(String::from_utf8(said).unwrap(), digest, "{extension}");
            let file = std::fs::read(path).unwrap();
            let found = match extension {
                "raw" => numbers(&file, size, false),
                "pgm" => pgm(&file, size),
                "png" => png(&file, size),
                _ => tiff(&file),
            };
            assert!(found == samples, "{design} as {extension}");
            let format = if extension == "tif" { "tiff" } else { extension };
            let streamed = run(&["render", design, "--region", region, "-o", "-", "-f", format]).done();
            assert!(streamed == file, "{design} as {extension} on the standard output");
        }
        assert_eq!(names(folder.path()).len(), 5, "no temporary file stays");
        let null = run(&["render", design, "--region", region, "-f", "null", "--digest"]).done();
        assert_eq!(String::from_utf8(null).unwrap(), digest);
    }
}

#[test]
fn the_means_of_a_job_change_no_byte() {
    let (design, region, _) = PARTS[3];
    let expected = raw(design, region);
    for means in [
        &["--threads", "1"][..],
        &["--threads", "5", "--tile", "7x13"],
        &["--memory", "8MiB", "--device", "cpu"],
        &["--tile", "100000x3"],
    ] {
        let mut arguments = vec!["render", design, "--region", region, "-o", "-"];
        arguments.extend(means);
        assert!(run(&arguments).done() == expected, "{means:?}");
    }
}

#[test]
fn a_file_is_replaced_whole_and_a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("out.raw"), folder.path().join("link.raw"));
    std::fs::write(&file, "before").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&file, &link).unwrap();
    #[cfg(not(unix))]
    std::fs::copy(&file, &link).unwrap();
    let (design, region, _) = PARTS[4];
    run(&["render", design, "--region", region, "-o", link.to_str().unwrap()]).done();
    #[cfg(unix)]
    assert!(link.is_symlink() && std::fs::read(&file).unwrap() == raw(design, region));
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn a_reader_that_closes_the_pipe_early_ends_the_job_quietly() {
    // The sheet has 3.6 TB: that this test ends is the first thing it tests.
    for arguments in [
        &["render", "sheet/design.kdl", "-o", "-"][..],
        &["render", "sheet/design.kdl", "-o", "-", "-f", "tiff"],
    ] {
        let mut child = relief(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut start = vec![0; 100_000];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut start).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn a_design_may_come_from_the_standard_input() {
    let mut command = relief(&["render", "-", "--region", "0,0,64x64", "-o", "-"]);
    // Pictures lie in the working folder then.
    command.current_dir(examples().join("texture"));
    let file = File::open(examples().join("texture/design.kdl")).unwrap();
    let output = command.stdin(file).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == raw("texture/design.kdl", "0,0,64x64"));
}
