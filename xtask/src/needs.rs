//! Programs that a command needs beyond Rust, installed on first use.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::{answer, run, succeeds};

/// The interpreter of a Python environment that holds `packages`, made under `target/venv/NAME` if
/// need be.
///
/// Packages are named as for pip, with or without a version. A stored list of them makes the next
/// call return at once.
pub(crate) fn python_with(target: &Path, name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = target.join("venv").join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let list = folder.join("installed.txt");
    let wanted = packages.join("\n");
    if python.exists() && fs::read_to_string(&list).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }

    if !python.exists() {
        ensure_venv_module()?;
        eprintln!("making a Python environment in {}", folder.display());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    }
    eprintln!("installing {} (once; this can take minutes)", packages.join(", "));
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))
        .context("pip could not install the packages: is the network there?")?;
    fs::write(&list, wanted).with_context(|| format!("cannot write {}", list.display()))?;
    Ok(python)
}

/// Whether Debian's packages can be installed: as root, where `apt-get` is.
pub(crate) fn may_install() -> bool {
    let root = answer(Command::new("id").arg("-u")).as_deref() == Some("0");
    root && succeeds(Command::new("apt-get").arg("--version"))
}

/// Installs packages of the system.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    eprintln!("installing {} with apt-get", packages.join(", "));
    if apt_get_install(packages).is_ok() {
        return Ok(());
    }
    // A new container has no package lists yet.
    run(Command::new("apt-get").arg("update"))?;
    apt_get_install(packages)
}

fn apt_get_install(packages: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    // The command runs unattended, so packages must not ask questions.
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    run(command.args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// Installs the module `venv` of Python if it is missing, or fails with advice.
fn ensure_venv_module() -> Result<()> {
    if let Err(error) = Command::new("python3").arg("--version").output() {
        match error.kind() {
            ErrorKind::NotFound => bail!("python3 is not installed: install Python 3.10 or later"),
            _ => return Err(error).context("cannot start python3"),
        }
    }
    if has_venv() {
        return Ok(());
    }
    if may_install() {
        install(&["python3-venv"])?;
    }
    if !has_venv() {
        bail!(
            "python3 cannot make virtual environments: install its venv module (on Debian and \
             Ubuntu: \
             apt-get install python3-venv)"
        );
    }
    Ok(())
}

/// Whether virtual environments can be made. Debian ships `venv` without the `ensurepip` that it
/// needs, so both are imported.
fn has_venv() -> bool {
    succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}
