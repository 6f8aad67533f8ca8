use super::cpu;
use relief_kernels::isa::Isa;

/// By the definition, in 64 bits.
fn gray(rgb: &[u8]) -> u8 {
    let sum = 2126 * u64::from(rgb[0]) + 7152 * u64::from(rgb[1]) + 722 * u64::from(rgb[2]) + 5000;
    (sum / 10_000) as u8
}

#[test]
fn every_colour_has_its_gray() {
    // One row of all blues for each red and green; the ways of computing it differ in their sums only.
    let mut row: Vec<u8> = (0..=255_u8).flat_map(|b| [0, 0, b]).collect();
    let mut found = vec![0; 256];
    Isa::each(|| {
        for (r, g) in (0..=255_u8).flat_map(|r| (0..=255_u8).map(move |g| (r, g))) {
            for colour in row.chunks_exact_mut(3) {
                (colour[0], colour[1]) = (r, g);
            }
            cpu::gray(&row, &mut found);
            for (colour, found) in row.chunks_exact(3).zip(&found) {
                assert_eq!(*found, gray(colour), "{colour:?}");
            }
        }
    });
}

#[test]
fn results_of_every_length_are_whole_and_in_their_place() {
    Isa::each(|| {
        // The last takes non-temporal stores.
        for length in [0, 1, 15, 16, 17, 1_000, 1 << 20 | 77, 5 << 20 | 3] {
            let rgb: Vec<u8> = (0..3 * length).map(|i| (i * 31 % 251) as u8).collect();
            let mut found = vec![0xAA; length + 1];
            cpu::gray(&rgb, &mut found[..length]);
            let right = rgb
                .chunks_exact(3)
                .zip(&found)
                .all(|(rgb, found)| *found == gray(rgb));
            assert!(right && found[length] == 0xAA, "{length} colours");

            let a: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let b: Vec<f32> = (0..length).map(|i| (i % 77) as f32 - 0.5).collect();
            let mut sum = vec![-1.0; length + 1];
            cpu::add(&a, &b, &mut sum[..length]);
            let right = sum[..length]
                .iter()
                .zip(a.iter().zip(&b))
                .all(|(sum, (a, b))| *sum == a + b);
            assert!(right && sum[length] == -1.0, "{length} sums");
            cpu::scale(&a, 2.5, &mut sum[..length]);
            let right = sum[..length].iter().zip(&a).all(|(scaled, a)| *scaled == 2.5 * a);
            assert!(right && sum[length] == -1.0, "{length} multiples");

            // Short parts of what is large take non-temporal stores, too.
            let each = (length / 3).max(1);
            let (mut by_parts, mut scaled) = (vec![-1.0; length + 1], vec![-1.0; length + 1]);
            let terms = a.chunks(each).zip(b.chunks(each));
            for ((a, b), out) in terms.zip(by_parts[..length].chunks_mut(each)) {
                cpu::add_part(a, b, out, length);
            }
            for (a, out) in a.chunks(each).zip(scaled[..length].chunks_mut(each)) {
                cpu::scale_part(a, 2.5, out, length);
            }
            cpu::add(&a, &b, &mut sum[..length]);
            assert!(by_parts == sum, "{length} sums in parts");
            cpu::scale(&a, 2.5, &mut sum[..length]);
            assert!(scaled == sum, "{length} multiples in parts");
        }
    });
}
