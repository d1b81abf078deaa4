//! Ledgers on a PostgreSQL server that the test starts itself, on a socket in a folder of its own.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use veilwalk::Rational;
use veilwalk_ledger::{Charge, Ledger, Limit, Problem};

use crate::semantics::{hold, within};

/// A server that ends with the test.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

/// Somebody who is not root, as whom PostgreSQL would not run.
const NOBODY: u32 = 65_534;

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<PathBuf> =
        versions.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
    folders.retain(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file());
    folders.sort();
    folders.pop()
}

fn as_nobody(command: &mut Command, folder: &Path) {
    let root = std::fs::metadata("/proc/self").is_ok_and(|me| {
        use std::os::unix::fs::MetadataExt;
        me.uid() == 0
    });
    if root {
        chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir(folder).env("HOME", folder);
}

impl Server {
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            println!(
                "SKIPPED: there is no PostgreSQL in /usr/lib/postgresql; install `postgresql`"
            );
            return None;
        };
        let folder = tempfile::Builder::new().prefix("vw").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        let data = folder.path().join("data");
        let mut make = Command::new(programs.join("initdb"));
        as_nobody(&mut make, folder.path());
        make.args(["--auth=trust", "--username=veil", "--encoding=UTF8", "--locale=C", "-D"]);
        let made = make.arg(&data).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut run = Command::new(programs.join("postgres"));
        as_nobody(&mut run, folder.path());
        run.arg("-D").arg(&data).args(["-c", "listen_addresses=", "-k"]).arg(folder.path());
        let child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Self { child, folder };
        for _ in 0..600 {
            if server.client().is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server did not start within a minute");
    }

    fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://veil@{folder}/postgres")
    }

    fn client(&self) -> Result<postgres::Client, postgres::Error> {
        postgres::Client::connect(&self.url(), postgres::NoTls)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_ledger_on_a_server() {
    let Some(server) = Server::start() else { return };
    let url = server.url();
    assert!(matches!(Ledger::open_existing(&url).unwrap_err().problem, Problem::Missing));
    hold(|| Ledger::open(&url).unwrap());

    // Machines that charge at the same time share a budget.
    let charge = |number: u8| {
        let url = url.clone();
        std::thread::spawn(move || {
            let ledger = Ledger::open(&url).unwrap();
            let limit = Some(Limit::in_all(Rational::whole(10)));
            let tries = (0..5).map(|round| {
                let terms = within("1", "2", 100 + number * 5 + round);
                ledger.charge(&terms, &[Charge::of_walk("zoe")], limit).is_ok()
            });
            tries.filter(|done| *done).count()
        })
    };
    let threads: Vec<_> = (0..4).map(charge).collect();
    let done: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(done, 10);

    // What cannot be held is refused, and what was changed by hand is noticed.
    let ledger = Ledger::open(&url).unwrap();
    let zero = ledger.charge(&within("1", "2", 200), &[Charge::of_walk("a\0b")], None).unwrap_err();
    assert!(zero.to_string().contains("zero byte"), "{zero}");
    let mut client = server.client().unwrap();
    let changes = [
        ("UPDATE veilwalk.entry SET epsilon = '1/1000' WHERE person = 'bob'", "checksum"),
        ("DELETE FROM veilwalk.entry WHERE person = 'bob'", "do not add up"),
        ("UPDATE veilwalk.summary SET budget = '1/1'", "summary"),
    ];
    for (change, said) in changes {
        client.batch_execute("CREATE TABLE kept AS SELECT * FROM veilwalk.entry").unwrap();
        client
            .batch_execute("CREATE TABLE kept_summary AS SELECT * FROM veilwalk.summary")
            .unwrap();
        client.batch_execute(change).unwrap();
        let error = Ledger::open(&url).unwrap_err();
        assert!(matches!(error.problem, Problem::Damaged(_)), "{error}");
        assert!(error.to_string().contains(said), "{error}");
        client
            .batch_execute(
                "DELETE FROM veilwalk.entry; INSERT INTO veilwalk.entry SELECT * FROM kept; \
                 DELETE FROM veilwalk.summary; INSERT INTO veilwalk.summary SELECT * FROM kept_summary; \
                 DROP TABLE kept, kept_summary",
            )
            .unwrap();
    }
    Ledger::open(&url).unwrap();
    let encrypted = Ledger::open(format!("{url}?sslmode=require")).unwrap_err().to_string();
    assert!(encrypted.contains("sslmode=require"), "{encrypted}");
    let gone =
        Ledger::open("postgres://veil:secret@%2Ftmp%2Fno-such-folder/db").unwrap_err().to_string();
    assert!(!gone.contains("secret") && gone.contains("no-such-folder"), "{gone}");
}
