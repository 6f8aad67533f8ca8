//! Where a run is: device, driver, host, date, and how fast and how hot things are.

use std::fs;
use std::time::SystemTime;

use crate::machine::Machine;
use crate::record::{Conditions, Header, Shares};

/// The header of a run that begins now. `revision` is that of the sources, where it is known.
#[must_use]
pub fn header(machine: &Machine, revision: Option<&str>, quick: bool) -> Header {
    let (device, name, driver, threads) = match machine {
        Machine::Cpu(pool) => {
            let driver = format!("{:?}", relief_kernels::isa::Isa::best().level()).to_lowercase();
            ("cpu".to_owned(), processor(), driver, pool.current_num_threads())
        }
        #[cfg(feature = "gpu")]
        Machine::Gpu(gpu) => {
            let report = gpu.report();
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let (name, driver) = (report.name.clone(), report.driver.clone());
            (report.id.to_string(), name, driver, threads)
        }
    };
    Header {
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        version: version(),
        revision: revision.unwrap_or("unknown").to_owned(),
        device,
        name,
        driver,
        host: format!("{} {}, {}", std::env::consts::OS, release(), processor()),
        threads,
        cache: matches!(machine, Machine::Cpu(_)).then(largest_cache).flatten(),
        quick,
        before: conditions(machine),
        after: Conditions::default(),
        sources: Default::default(),
    }
}

/// The version, and whether times of this build mean anything.
fn version() -> String {
    let build = if cfg!(debug_assertions) {
        " (not optimised)"
    } else {
        ""
    };
    env!("CARGO_PKG_VERSION").to_owned() + build
}

/// The clock, the temperature and the load of a machine now.
#[must_use]
pub fn conditions(machine: &Machine) -> Conditions {
    match machine {
        Machine::Cpu(_) => Conditions {
            clock: clock(),
            temperature: temperature(),
            load: load(),
            shares: fs::read_to_string("/proc/stat")
                .ok()
                .and_then(|stat| shares_of(&stat)),
        },
        #[cfg(feature = "gpu")]
        Machine::Gpu(gpu) => device(&gpu.report().name).unwrap_or_default(),
    }
}

/// By NVIDIA's management library, where it is there and knows exactly one device of this name.
#[cfg(feature = "gpu")]
fn device(name: &str) -> Option<Conditions> {
    use nvml_wrapper::Nvml;
    use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

    let nvml = Nvml::init().ok()?;
    let count = nvml.device_count().ok()?;
    let devices = (0..count).filter_map(|index| nvml.device_by_index(index).ok());
    let mut same = devices.filter(|device| device.name().is_ok_and(|known| known == name));
    let (Some(device), None) = (same.next(), same.next()) else {
        return None;
    };
    Some(Conditions {
        clock: device.clock_info(Clock::SM).ok().map(f64::from),
        temperature: device.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
        load: None,
        shares: None,
    })
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&text, "model name").next();
    model.unwrap_or(std::env::consts::ARCH).to_owned()
}

/// The mean of the clocks of all processors, in MHz.
fn clock() -> Option<f64> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let clocks = field(&text, "cpu MHz").filter_map(|clock| clock.parse().ok());
    let clocks: Vec<f64> = clocks.collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64)
}

fn field<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.filter_map(move |(key, value)| (key.trim() == name).then_some(value.trim()))
}

/// The hottest zone, in °C.
fn temperature() -> Option<f64> {
    let zones = fs::read_dir("/sys/class/thermal").ok()?;
    let temperatures = zones.filter_map(|zone| {
        let text = fs::read_to_string(zone.ok()?.path().join("temp")).ok()?;
        text.trim().parse::<f64>().ok()
    });
    temperatures.max_by(f64::total_cmp).map(|milli| milli / 1000.0)
}

fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// From the first line of `/proc/stat`, whose numbers are user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)); those after them are part of the first two.
fn shares_of(stat: &str) -> Option<Shares> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Result<Vec<u64>, _> = numbers.split_whitespace().map(str::parse).collect();
    let &[user, nice, system, _, _, irq, softirq, stolen, ..] = ticks.ok()?.as_slice() else {
        return None;
    };
    let parts = [user, nice, system, irq, softirq];
    let ran = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
    Some(Shares { ran, stolen })
}

fn release() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

/// Bytes that programs can still take, where the host tells (proc_meminfo(5)).
pub(crate) fn available_memory() -> Option<u64> {
    available_in(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = field(meminfo, "MemAvailable").next()?;
    let kibibytes: u64 = line.strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1 << 10)
}

/// Bytes of the largest cache of the first processor.
#[must_use]
pub fn largest_cache() -> Option<u64> {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = caches.filter_map(|cache| {
        let text = fs::read_to_string(cache.ok()?.path().join("size")).ok()?;
        let text = text.trim();
        let (digits, scale) = match text.as_bytes().last()? {
            b'K' => (&text[..text.len() - 1], 1 << 10),
            b'M' => (&text[..text.len() - 1], 1 << 20),
            _ => (text, 1),
        };
        Some(digits.parse::<u64>().ok()? * scale)
    });
    sizes.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_told_in_kibibytes() {
        let text = "MemTotal:       24576 kB\nMemFree:         1024 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available_in(text), Some(2 << 20));
        assert_eq!(available_in("MemTotal: 24576 kB\n"), None);
        assert_eq!(available_in("MemAvailable: 99999999999999999999 kB\n"), None);
    }

    #[test]
    fn what_a_host_took_is_the_eighth_number_of_the_first_line() {
        let stat = "cpu  10 20 30 1000 500 1 2 7 9 9\ncpu0 10 20 30 1000 500 1 2 7 9 9\n";
        let before = shares_of(stat).unwrap();
        assert_eq!(before, Shares { ran: 63, stolen: 7 });
        let after = Shares { ran: 93, stolen: 17 };
        assert_eq!(after.stolen_since(before), Some(0.25));
        assert_eq!(before.stolen_since(before), None);
    }

    #[test]
    fn other_texts_tell_nothing() {
        for text in [
            "",
            "cpu",
            "cpu  1 2 3",
            "cpu0 1 2 3 4 5 6 7 8",
            "cpu  a 2 3 4 5 6 7 8",
            "cpu  99999999999999999999 0 0 0 0 0 0 0",
        ] {
            assert_eq!(shares_of(text), None, "{text:?}");
        }
    }
}
