-- A debugging session and a hover in Neovim, configured with the snippets of docs/editors/neovim.md themselves.
--
-- nvim --clean --headless -l session.lua
-- Environment: NVIM_DAP (a copy of nvim-dap), EXPECTED (output of sample.py), TRANSCRIPT (written by the adapter).
-- tdb-dap has to be on PATH, as the page says.

local patience = 60000 -- milliseconds to wait for the adapter or the language server
local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$")

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("a")
  file:close()
  return text
end

local function check(condition, what, ...)
  if not condition then
    error("Not so: " .. what:format(...), 2)
  end
  print("ok: " .. what:format(...))
end

local function wait(what, predicate)
  local value
  vim.wait(patience, function()
    value = predicate()
    return value
  end, 20)
  return value or error("Timed out waiting for " .. what, 2)
end

local expected = vim.json.decode(read(vim.env.EXPECTED))
local mlir, pool = expected.mlir, expected.lines.pool

-- The page, as a user pastes it.
vim.opt.runtimepath:prepend(vim.env.NVIM_DAP)
local dap = require("dap")
local pasted = 0
for snippet in read(here .. "/../../../docs/editors/neovim.md"):gmatch("\n```lua\n(.-)\n```") do
  assert(load(snippet))()
  pasted = pasted + 1
end
check(pasted == 3, "the page has %d snippets", pasted)
vim.list_extend(dap.adapters.tdb.args, { "--log", vim.env.TRANSCRIPT })

vim.cmd.filetype("on")
vim.cmd.edit(vim.fn.fnameescape(mlir))
check(vim.bo.filetype == "mlir", "final.mlir is of the type mlir (%s)", vim.bo.filetype)
local window = vim.api.nvim_get_current_win()

local function line()
  return vim.api.nvim_win_get_cursor(window)[1]
end

-- The answer to a request of the session.
local function ask(command, arguments)
  local failure, answer
  dap.session():request(command, arguments, function(problem, body)
    failure, answer = problem, body or {}
  end)
  wait(command, function()
    return failure or answer
  end)
  check(not failure, "%s succeeds (%s)", command, vim.inspect(failure))
  return answer
end

-- Call what makes the program go on; returns the frame where it stops, once nvim-dap has gone there.
local function resume(go)
  if dap.session() then
    dap.session().current_frame = nil
  end
  go()
  return wait("a stop", function()
    return dap.session() and dap.session().current_frame
  end)
end

vim.api.nvim_win_set_cursor(window, { pool, 0 })
dap.toggle_breakpoint()
local configuration
for _, candidate in ipairs(dap.configurations.mlir) do
  if candidate.stopOnEntry == false then
    configuration = candidate
  end
end
local frame = resume(function()
  dap.run(configuration)
end)
check(frame.line == pool and frame.source.path == mlir, "it stops on the pooling, line %d", frame.line)
wait("the cursor", function()
  return line() == pool
end)

local operand = expected.operand.row
local found
for _, scope in ipairs(ask("scopes", { frameId = frame.id }).scopes) do
  if scope.name == "Operands" then
    for _, variable in ipairs(ask("variables", { variablesReference = scope.variablesReference }).variables) do
      found = found or vim.startswith(variable.value, operand)
    end
  end
end
check(found, "one operand is %s", operand)

frame = resume(dap.step_over)
check(frame.line ~= pool, "a step leaves the line (%d)", frame.line)
frame = resume(dap.step_back)
check(frame.line == pool, "a step back returns to it (%d)", frame.line)

dap.clear_breakpoints()
resume(dap.continue)
dap.terminate()
wait("the end", function()
  return dap.session() == nil
end)
print("ok: the session ended")

-- The page's attach, to an adapter on a port of its own.
local announced = ""
local listening = vim.system({ "tdb-dap", "adapter", "--listen", "127.0.0.1:0", "--token", "TOKEN" }, {
  text = true,
  stdout = function(_, data)
    announced = announced .. (data or "")
  end,
  stderr = function(_, data)
    announced = announced .. (data or "")
  end,
})
local attached, failure = pcall(function()
  dap.adapters.tdb_remote.port = tonumber(wait("the port", function()
    return announced:match("127%.0%.0%.1:(%d+)")
  end))
  local attach = vim.deepcopy(dap.configurations.mlir[#dap.configurations.mlir])
  check(attach.request == "attach" and attach.token == "TOKEN", "the last configuration of the page attaches")
  attach.program = expected.directory
  frame = resume(function()
    dap.run(attach)
  end)
  check(frame.source ~= nil, "attached, it stops at the entry, line %d", frame.line)
  dap.terminate()
  wait("the end", function()
    return dap.session() == nil
  end)
end)
listening:kill("sigterm")
assert(attached, failure)

-- Without a session: the language server that the page enables for this type of file.
local client = wait("the language server", function()
  return vim.lsp.get_clients({ name = "tdb", bufnr = vim.fn.bufnr(mlir) })[1]
end)
local result = expected.values.result
local text = vim.api.nvim_buf_get_lines(0, pool - 1, pool, true)[1]
local answer = client:request_sync("textDocument/hover", {
  textDocument = vim.lsp.util.make_text_document_params(),
  position = { line = pool - 1, character = assert(text:find(result, 1, true)) },
}, patience)
local hover = answer and answer.result and vim.inspect(answer.result.contents) or ""
check(hover:find("Pool2D", 1, true), "the hover of %s names its op", result)
client:stop()
vim.cmd.quitall({ bang = true })
