//! Zed's side of tdb-dap: how the debug adapter and the language server start.

use std::net::Ipv4Addr;

use zed_extension_api::serde_json::{self, json, Value};
use zed_extension_api::{
    self as zed, Command, DebugAdapterBinary, DebugConfig, DebugRequest, DebugScenario, DebugTaskDefinition,
    LanguageServerId, Result, StartDebuggingRequestArguments, StartDebuggingRequestArgumentsRequest as Request,
    TcpArguments, TcpArgumentsTemplate, Worktree,
};

struct Tdb;

/// `tdb-dap` of the settings, else the one on PATH.
fn program(worktree: &Worktree, chosen: Option<String>) -> Result<String> {
    chosen
        .or_else(|| worktree.which("tdb-dap"))
        .ok_or_else(|| "tdb-dap is not on PATH; docs/install.md says how to install it".to_string())
}

/// The request of a configuration.
fn request_of(configuration: &Value) -> Result<Request> {
    match configuration.get("request").and_then(Value::as_str) {
        Some("launch") => Ok(Request::Launch),
        Some("attach") => Ok(Request::Attach),
        _ => Err("\"request\" has to be \"launch\" or \"attach\"".to_string()),
    }
}

/// Address of an adapter that listens already: `host` and `port` of the configuration.
fn address_of(configuration: &Value) -> Result<TcpArgumentsTemplate> {
    let host = configuration.get("host").and_then(Value::as_str).unwrap_or("127.0.0.1");
    let host: Ipv4Addr = host.parse().map_err(|_| format!("\"host\" has to be an IPv4 address, not {host:?}"))?;
    let port = configuration.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let port = port.ok_or_else(|| "attach needs \"port\", 1 to 65535".to_string())?;
    Ok(TcpArgumentsTemplate { host: Some(host.into()), port: Some(port), timeout: None })
}

impl zed::Extension for Tdb {
    fn new() -> Self {
        Tdb
    }

    fn language_server_command(&mut self, _server: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        Ok(Command { command: program(worktree, None)?, args: vec!["lsp".to_string()], env: worktree.shell_env() })
    }

    fn get_dap_binary(
        &mut self,
        _adapter: String,
        task: DebugTaskDefinition,
        chosen: Option<String>,
        worktree: &Worktree,
    ) -> Result<DebugAdapterBinary> {
        let configuration: Value = serde_json::from_str(&task.config).map_err(|error| error.to_string())?;
        let request = request_of(&configuration)?;
        let mut command = None;
        let mut arguments = Vec::new();
        let mut connection: Option<TcpArguments> = None;
        if let Request::Attach = request {
            let template = task.tcp_connection.map_or_else(|| address_of(&configuration), Ok)?;
            connection = Some(zed::resolve_tcp_template(template)?);
        } else {
            command = Some(program(worktree, chosen)?);
            arguments.push("adapter".to_string());
        }
        Ok(DebugAdapterBinary {
            command,
            arguments,
            envs: worktree.shell_env(),
            cwd: Some(worktree.root_path()),
            connection,
            request_args: StartDebuggingRequestArguments { configuration: task.config, request },
        })
    }

    fn dap_request_kind(&mut self, _adapter: String, configuration: Value) -> Result<Request> {
        request_of(&configuration)
    }

    fn dap_config_to_scenario(&mut self, config: DebugConfig) -> Result<DebugScenario> {
        let DebugRequest::Launch(launch) = config.request else {
            return Err("attaching needs an entry in .zed/debug.json with program, port and token".to_string());
        };
        let configuration = json!({
            "request": "launch",
            "program": launch.program,
            "stopOnEntry": config.stop_on_entry.unwrap_or(true),
        });
        Ok(DebugScenario {
            label: config.label,
            adapter: config.adapter,
            build: None,
            config: configuration.to_string(),
            tcp_connection: None,
        })
    }
}

zed::register_extension!(Tdb);
