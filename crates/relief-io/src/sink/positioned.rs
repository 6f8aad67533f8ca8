//! Reading and writing at a place in a file, from any thread.

use std::fs::File;
use std::io;

/// Writes all of `bytes` at `offset`.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all of `bytes` at `offset`.
#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads what lies at `offset`, as far as the file goes: what is beyond its end is 0.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut read = 0;
    while read < bytes.len() {
        match read_some(file, &mut bytes[read..], offset + read as u64) {
            Ok(0) => {
                bytes[read..].fill(0);
                return Ok(());
            }
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
/// Reads some of what lies at `offset`.
pub(crate) fn read_some(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
/// Reads some of what lies at `offset`.
pub(crate) fn read_some(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

/// Takes the lock of a file that is written: with others where `shared`, else alone. Who completes a file that several write locks
/// it alone for a moment, which is waited for. False where somebody else holds it.
pub(crate) fn lock(file: &File, shared: bool) -> bool {
    const TRIES: u32 = 600;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);
    for number in 0..TRIES {
        let locked = if shared {
            file.try_lock_shared()
        } else {
            file.try_lock()
        };
        match locked {
            Err(std::fs::TryLockError::WouldBlock) if !shared || number + 1 == TRIES => return false,
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            // Where the file system has no locks, nobody else can be seen.
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => break,
        }
    }
    true
}
