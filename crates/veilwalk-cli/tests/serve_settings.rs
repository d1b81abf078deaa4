//! How `veilwalk serve` is set up: TLS, limits, a configuration file, logs, and what is in packaging/.
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{CELL, Folder, VEILWALK, both, stderr};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;

const CERTIFICATE: &str = include_str!("fixtures/localhost.cert.pem");
/// Of no use anywhere else.
const KEY: &str = include_str!("fixtures/localhost.key.pem");

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const METRICS: &str = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

struct Server {
    child: Child,
    address: SocketAddr,
    log: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Server {
    fn start(folder: &Folder, flags: &[&str]) -> Self {
        let mut command = Command::new(VEILWALK);
        command.current_dir(folder.root()).arg("serve").args(flags);
        let mut child = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "it does not start: {said}");
            said += &line;
            if let Some((_, address)) = line.split_once("listening on http") {
                let address = address.trim_start_matches('s').trim_start_matches("://");
                let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
                break address[..end.unwrap_or(address.len())].parse().unwrap();
            }
        };
        Self { child, address, log, said }
    }

    fn connect(&self) -> TcpStream {
        let connection = TcpStream::connect(self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        connection
    }

    fn ask(&self, request: &str) -> String {
        let mut connection = self.connect();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // A server may close as soon as it has refused.
        let _ = connection.read_to_string(&mut answer);
        answer
    }

    fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.log.read_to_string(&mut self.said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.said);
        self.said
    }
}

const HERE: [&str; 4] = ["--state", "s", "--listen", "127.0.0.1:0"];

fn flags<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&CELL[..], &HERE, more].concat()
}

#[test]
fn with_a_certificate_it_speaks_tls_and_nothing_else() {
    let folder = Folder::new();
    folder.write("cert.pem", CERTIFICATE);
    folder.write("key.pem", KEY);
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let server = Server::start(&folder, &flags(&tls));
    assert!(server.said.contains("https://127.0.0.1"), "{}", server.said);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, server.connect());
    let body = r#"{"step": 0, "state": "Caa"}"#;
    write!(
        stream,
        "POST /v1/walks/a/steps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\"replayed\":false"),
        "{answer}"
    );
    let plain = server.ask(HEALTH);
    assert!(!plain.contains("alive"), "{plain}");
    server.stop();

    let refuses = |more: &[&str], words: &[&str]| {
        let args = both(&["serve"], &[&CELL[..], &["--state", "other"], more].concat());
        folder.refuses(args, words);
    };
    refuses(&["--tls-cert", "cert.pem"], &["--tls-key"]);
    refuses(&["--tls-cert", "key.pem", "--tls-key", "key.pem"], &["key.pem"]);
    refuses(&["--tls-cert", "cert.pem", "--tls-key", "cert.pem"], &["cert.pem", "private key"]);
    refuses(&["--tls-cert", "none", "--tls-key", "key.pem"], &["cannot read none"]);
}

#[test]
fn a_client_may_ask_only_so_often() {
    let folder = Folder::new();
    folder.write("tokens", "0123456789abcdef-ann\n0123456789abcdef-bob\n");
    let server = Server::start(&folder, &flags(&["--tokens", "tokens", "--max-rate", "3"]));
    let ask = |who: &str| {
        let token = format!("Authorization: Bearer 0123456789abcdef-{who}\r\n\r\n");
        server.ask(&METRICS.replace("\r\n\r\n", &format!("\r\n{token}")))
    };
    let answers: Vec<String> = (0..20).map(|_| ask("ann")).collect();
    let refused = answers.iter().find(|answer| answer.starts_with("HTTP/1.1 429"));
    let refused = refused.expect("twenty at once are too many");
    assert!(
        refused.contains("retry-after: 1\r\n") && refused.contains("\"code\":\"rate\""),
        "{refused}"
    );
    assert!(ask("bob").starts_with("HTTP/1.1 200"), "others do not mind");
    // Whether it runs may always be asked.
    assert!((0..20).all(|_| server.ask(HEALTH).starts_with("HTTP/1.1 200")));
    let deadline = Instant::now() + Duration::from_secs(30);
    while !ask("ann").starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(300));
    }
    server.stop();
}

#[test]
fn heads_and_connections_have_limits() {
    let folder = Folder::new();
    let server =
        Server::start(&folder, &flags(&["--max-connections", "2", "--max-header", "8192"]));
    let long = HEALTH.replace("Host:", &format!("X-Long: {}\r\nHost:", "x".repeat(20_000)));
    assert!(server.ask(&long).starts_with("HTTP/1.1 431"));
    let many = HEALTH.replace("Host:", &format!("{}Host:", "X: y\r\n".repeat(100)));
    assert!(server.ask(&many).starts_with("HTTP/1.1 431"));
    assert!(server.ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    // Two that say nothing take both places; another waits until one of them goes.
    let (one, _two) = (server.connect(), server.connect());
    std::thread::sleep(Duration::from_millis(300));
    let mut third = server.connect();
    third.write_all(HEALTH.as_bytes()).unwrap();
    third.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut byte = [0; 1];
    assert!(third.read_exact(&mut byte).is_err(), "it waits");
    drop(one);
    third.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = String::new();
    third.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop();
}

#[test]
fn a_file_says_what_flags_say_and_flags_win() {
    let folder = Folder::new();
    folder.write(
        "serve.toml",
        "# the flags by their names\nchain = \"credit\"\nepsilon = 1\nradius = 3.5\nmechanism = \"cell\"\n\
         state = \"s\"\nlisten = \"127.0.0.1:0\"\nmax-walks = 1_000\nlog = \"json\"\n",
    );
    let server = Server::start(&folder, &["--config", "serve.toml", "--epsilon", "2"]);
    let log = server.stop();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages: Vec<&str> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert!(messages[0].contains("epsilon 2"), "{log}");
    let levels = ["note", "warning"];
    assert!(lines.iter().all(|line| levels.contains(&line["level"].as_str().unwrap())), "{log}");
    assert!(lines.iter().all(|line| line["time"].is_string()), "{log}");
    assert!(messages.last().unwrap().contains("stopped"), "{log}");

    for (text, words) in [
        ("chain = \"credit\"\nepsilom = 1\n", &["broken.toml, line 2", "epsilom"][..]),
        ("chain = \"credit\"\nepsilon = \n", &["broken.toml, line 2"]),
        (
            "chain = \"credit\"\nradius = 1\nepsilon = -3\nstate = \"x\"\n",
            &["broken.toml, line 3: epsilon"],
        ),
        ("chain = \"credit\"\n[service]\n", &["broken.toml, line 2", "service"]),
    ] {
        folder.write("broken.toml", text);
        folder.refuses(["serve", "--config", "broken.toml", "--check"], words);
    }
    folder.refuses(["serve", "--config", "nothing.toml"], &["cannot read nothing.toml"]);
}

#[test]
fn a_check_says_what_is_wrong_and_makes_nothing() {
    let folder = Folder::new();
    let check =
        |more: &[&str]| both(&["serve", "--check", "--state", "s"], &[&CELL[..], more].concat());
    let run = folder.run(check(&[])).success();
    assert!(stderr(&run).contains("this configuration is valid"), "{}", stderr(&run));
    assert!(!folder.path("s").exists());
    folder.refuses(check(&["--tokens", "none"]), &["cannot read none"]);
    folder.refuses(check(&["--listen", "0.0.0.0:1"]), &["--tokens"]);
    folder.refuses(check(&["--start", "nowhere"]), &["nowhere"]);
    folder.refuses(
        both(&["serve", "--check", "--state", "no/such"], &CELL),
        &["there is no directory no"],
    );
}

/// The configuration that is packaged is valid, and so are the unit and the container file as far as that can be said here.
#[test]
fn what_is_packaged_is_valid() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let folder = Folder::new();
    let config = packaging.join("serve.toml");
    let config = config.to_str().unwrap();
    folder.run(["serve", "--config", config, "--state", "s", "--check"]).success();
    // Also the lines that are left out.
    let text = std::fs::read_to_string(config).unwrap();
    let all = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.contains(" = ") => setting,
            _ => line,
        })
        .collect::<Vec<_>>()
        .join("\n")
        .replace("/etc/veilwalk/", "");
    folder.write("all.toml", all);
    folder.write("tokens", "0123456789abcdef-ann\n");
    folder.write("cert.pem", CERTIFICATE);
    folder.write("key.pem", KEY);
    folder.run(["serve", "--config", "all.toml", "--state", "s", "--check"]).success();

    // The program is not where the unit expects it.
    let unit = std::fs::read_to_string(packaging.join("veilwalk.service")).unwrap();
    folder.write("veilwalk.service", unit.replace("/usr/local/bin/veilwalk", VEILWALK));
    match Command::new("systemd-analyze")
        .args(["verify", "veilwalk.service"])
        .current_dir(folder.root())
        .output()
    {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr);
            let ours: Vec<&str> =
                said.lines().filter(|line| line.contains("veilwalk.service")).collect();
            assert!(ours.is_empty(), "{said}");
        }
        Err(_) => eprintln!("systemd-analyze is not there: the unit is not verified"),
    }
    let image = std::fs::read_to_string(packaging.join("Containerfile")).unwrap();
    let instructions: Vec<&str> = image
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with(' ') && !line.is_empty())
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    let expected =
        "FROM WORKDIR COPY RUN FROM RUN COPY USER VOLUME EXPOSE STOPSIGNAL ENTRYPOINT CMD";
    assert_eq!(instructions.join(" "), expected);
}
