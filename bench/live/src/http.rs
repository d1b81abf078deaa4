//! HTTP with connections that stay open, one request at a time on each.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::{Load, Record, real};

pub(crate) async fn drive(
    load: &Load,
    address: SocketAddr,
    batch: u64,
    connections: u64,
) -> Result<Record> {
    let mut tasks = JoinSet::new();
    let mut all = Record::new();
    for connection in 0..connections {
        tasks.spawn(one(load.clone(), address, batch, connection, connections));
    }
    while let Some(record) = tasks.join_next().await {
        all.join(record??);
    }
    all.over();
    Ok(all)
}

/// One connection, which has walks of its own.
async fn one(
    load: Load,
    address: SocketAddr,
    batch: u64,
    connection: u64,
    connections: u64,
) -> Result<Record> {
    let stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("nobody listens on {address}"))?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let mut record = Record::new();
    for round in 0..load.steps.div_ceil(batch) {
        for walk in (connection..load.walks.max(connections)).step_by(connections as usize) {
            if record.begun().elapsed() > load.time() {
                return Ok(record);
            }
            let steps: Vec<u64> = (round * batch..(round + 1) * batch).collect();
            let posted = |step: &u64| json!({ "step": step, "state": real(walk, *step) });
            let body = match &steps[..] {
                [step] => posted(step).to_string(),
                steps => {
                    json!({ "steps": steps.iter().map(posted).collect::<Vec<_>>() }).to_string()
                }
            };
            for &step in &steps {
                record.sent(walk, step);
            }
            let answer = post(&mut stream, &load.walk(walk), &body).await?;
            match answer {
                Value::Array(answers) => {
                    answers.iter().try_for_each(|answer| record.answer(walk, answer))?;
                }
                answer => record.answer(walk, &answer)?,
            }
        }
    }
    Ok(record)
}

async fn post(stream: &mut BufReader<TcpStream>, walk: &str, body: &str) -> Result<Value> {
    let request = format!(
        "POST /v1/walks/{walk}/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         \r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let (mut line, mut length, mut status) = (String::new(), 0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            bail!("the service has closed the connection");
        }
        if status.is_empty() {
            status = line.trim().to_owned();
        }
        let lower = line.to_ascii_lowercase();
        if let Some(digits) = lower.strip_prefix("content-length:") {
            length = digits.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    if !status.contains(" 200 ") {
        bail!("{status}: {}", String::from_utf8_lossy(&body));
    }
    Ok(serde_json::from_slice(&body)?)
}
