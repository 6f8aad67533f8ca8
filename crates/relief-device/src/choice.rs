//! What is asked for: `auto`, `cpu`, `cuda:0,1`, `vulkan`, …

use std::fmt;
use std::str::FromStr;

/// One device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceId {
    /// The processor.
    Cpu,
    /// The CUDA device of this ordinal.
    Cuda(u16),
    /// The Vulkan adapter of this number, counted in the order of the loader.
    Vulkan(u16),
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => write!(f, "cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Vulkan(number) => write!(f, "vulkan:{number}"),
        }
    }
}

/// The devices a user asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum DeviceChoice {
    /// The first CUDA device, else the first hardware Vulkan adapter, else the CPU.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// These CUDA devices, each once.
    Cuda(Vec<u16>),
    /// Every CUDA device.
    CudaAll,
    /// The first Vulkan adapter that is hardware.
    Vulkan,
    /// These Vulkan adapters, each once; a software adapter only so.
    VulkanAdapters(Vec<u16>),
}

/// A choice of devices that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no device \"{text}\": {reason}; expected auto, cpu, cuda, cuda:N, cuda:0,1, cuda:all, vulkan or vulkan:N"
)]
pub struct ChoiceError {
    text: String,
    reason: String,
}

impl FromStr for DeviceChoice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let refuse = |reason: String| ChoiceError {
            text: text.to_owned(),
            reason,
        };
        let (backend, list) = match text.split_once(':') {
            Some((backend, list)) => (backend, Some(list)),
            None => (text, None),
        };
        match (backend, list) {
            ("auto", None) => Ok(Self::Auto),
            ("cpu", None) => Ok(Self::Cpu),
            ("cuda", None) => Ok(Self::Cuda(vec![0])),
            ("cuda", Some("all")) => Ok(Self::CudaAll),
            ("cuda", Some(list)) => numbers(list).map(Self::Cuda).map_err(refuse),
            ("vulkan", None) => Ok(Self::Vulkan),
            ("vulkan", Some(list)) => numbers(list).map(Self::VulkanAdapters).map_err(refuse),
            ("auto" | "cpu", Some(_)) => Err(refuse(format!("{backend} takes no number"))),
            _ => Err(refuse("the name is not known".to_owned())),
        }
    }
}

fn numbers(list: &str) -> Result<Vec<u16>, String> {
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let number: u16 = part
            .trim()
            .parse()
            .map_err(|_| format!("\"{part}\" is not the number of a device"))?;
        if numbers.contains(&number) {
            return Err(format!("device {number} is named twice"));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_choice_is_understood() {
        for (text, choice) in [
            ("auto", DeviceChoice::Auto),
            ("cpu", DeviceChoice::Cpu),
            ("cuda", DeviceChoice::Cuda(vec![0])),
            ("cuda:3", DeviceChoice::Cuda(vec![3])),
            ("cuda:0,2", DeviceChoice::Cuda(vec![0, 2])),
            ("cuda:all", DeviceChoice::CudaAll),
            ("vulkan", DeviceChoice::Vulkan),
            ("vulkan:1", DeviceChoice::VulkanAdapters(vec![1])),
        ] {
            assert_eq!(text.parse(), Ok(choice), "{text}");
        }
    }

    #[test]
    fn a_wrong_choice_names_what_is_wrong() {
        for (text, part) in [
            ("gpu", "not known"),
            ("cuda:", "not the number"),
            ("cuda:1,1", "named twice"),
            ("cuda:-1", "not the number"),
            ("cpu:0", "takes no number"),
            ("vulkan:99999", "not the number"),
        ] {
            let error = text.parse::<DeviceChoice>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
