//! Looking at pages in a browser, where there is one.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::Folder;

/// Chromium, if it is installed; says so if it is not.
pub(crate) fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("VEILWALK_CHROMIUM").map(PathBuf::from);
    let usual = || {
        let path = std::env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome"];
        std::env::split_paths(&path)
            .flat_map(|folder| names.map(|name| folder.join(name)))
            .find(|file| file.is_file())
    };
    let found = named.or_else(usual);
    if found.is_none() {
        eprintln!(
            "skipped: there is no chromium; install it (Debian: apt-get install chromium) or name it in \
             VEILWALK_CHROMIUM"
        );
    }
    found
}

/// What a probe finds on a page in a frame of some width. The probe is a script that sends it to the parent of its window.
pub(crate) fn looked_at(
    folder: &Folder,
    chromium: &PathBuf,
    page: &str,
    probe: &str,
    width: u32,
) -> Value {
    // The page forbids everything but its own scripts; the probe is one of these.
    folder.write("probed.html", page.replace("</body>", &format!("{probe}</body>")));
    folder.write(
        "frame.html",
        format!(
            "<!doctype html><body style=\"margin:0\"><script>\
             addEventListener(\"message\", (e) => {{ document.title = e.data; }});</script>\
             <iframe src=\"probed.html\" style=\"border:0;width:{width}px;height:900px\"></iframe>"
        ),
    );
    let address = format!("file://{}", folder.path("frame.html").display());
    // A profile for each width: a browser remembers who wanted it dark.
    let profile = format!("--user-data-dir={}", folder.path(&format!("profile-{width}")).display());
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--disable-background-networking", "--disable-component-update", "--no-first-run"])
        .args(["--disable-sync", "--window-size=1300,1000", "--virtual-time-budget=20000"])
        .args([profile.as_str(), "--dump-dom", address.as_str()])
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let said = String::from_utf8_lossy(&output.stderr);
    let (found, _) = title.unwrap_or_else(|| panic!("no answer: {dom}\n{said}"));
    serde_json::from_str(found).unwrap()
}
