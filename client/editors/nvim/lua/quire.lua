-- Quire in Neovim: tells the journal whose save it was, shows who wrote each line and who holds a lease, and says when an
-- agent changes a file that is open. Where no Quire runs, it does nothing and says nothing.

local M = {}

local api, fn = vim.api, vim.fn
local blamed = api.nvim_create_namespace('quire_blame')
local current = api.nvim_create_namespace('quire_current')
local group = api.nvim_create_augroup('quire', {})

M.options = {
  command = 'quire', -- the program, or its path
  gutter = true, -- writers and leases in the sign column, and the writer of the cursor's line behind it
  notices = true, -- a message when an agent changes a file that is open
}

local leaving = false -- Neovim ends: no more jobs
local saving = {} -- jobs that tell of saves, by number
local feeds = {} -- workspace → job that follows its journal
local runs_of = {} -- buffer → stretches of lines with one writer
local told = {} -- path and writer → when a notice was given, in ms

local LEAVE_MS = 1000 -- longest wait for the last save to be told, when Neovim ends
local QUIET_MS = 30000 -- between two notices of one writer in one file

local function run(words, folder, done, outlives)
  if leaving then return nil end
  local lines = {}
  local ok, job = pcall(fn.jobstart, vim.list_extend({ M.options.command }, words), {
    cwd = folder,
    detach = outlives, -- Neovim does not end it
    stdout_buffered = true,
    on_stdout = function(_, data) lines = data end,
    on_exit = function(number, status)
      saving[number] = nil
      local decoded, reply = pcall(vim.json.decode, table.concat(lines, '\n'))
      if done and status == 0 and decoded and type(reply) == 'table' and reply.ok then done(reply) end
    end,
  })
  return ok and job > 0 and job or nil
end

-- `act` with the workspace that holds `folder`, if a daemon runs for it: nothing here starts one.
local function where_it_runs(folder, act)
  run({ 'status', '--json' }, folder, function(status)
    if type(status.workspace) == 'string' then act(status.workspace) end
  end)
end

local function name_of(writer)
  if type(writer) ~= 'table' then return '?' end
  local function text(field) return type(writer[field]) == 'string' and writer[field] or '' end
  local agent, session = text('agent'), text('agent_session')
  if agent == '' then
    if writer.uid == nil or writer.uid == vim.NIL then return 'outside' end
    agent = 'user'
  end
  return session ~= '' and agent .. '/' .. session:sub(1, 12) or agent
end

-- The path and folder of a buffer that is a file, else nil.
local function file_of(buffer)
  if not api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= '' then return nil end
  local path = fn.fnamemodify(api.nvim_buf_get_name(buffer), ':p')
  if path == '' or fn.filereadable(path) == 0 then return nil end
  return path, fn.fnamemodify(path, ':h')
end

-- The bytes that Neovim has just written for this buffer, or nil where they are not known.
local function bytes_of(buffer)
  local options = vim.bo[buffer]
  local breaks = ({ unix = '\n', dos = '\r\n', mac = '\r' })[options.fileformat]
  local text = table.concat(api.nvim_buf_get_lines(buffer, 0, -1, true), breaks)
  if options.endofline or (options.fixendofline and not options.binary) then text = text .. breaks end
  local encoding = options.fileencoding
  if encoding ~= '' and encoding ~= 'utf-8' then
    text = fn.iconv(text, 'utf-8', encoding)
    if text == '' then return nil end
  end
  return (options.bomb and not options.binary) and '\239\187\191' .. text or text
end

-- ── saves ──

-- Tell that the person has just written the buffer to `path`, which is another file than the buffer's after `:w OTHER`.
function M.saved(buffer, path)
  if vim.bo[buffer].buftype ~= '' or fn.filereadable(path) == 0 then return end
  local bytes = bytes_of(buffer)
  local hashed, digits = pcall(fn.sha256, bytes) -- not of bytes with NUL
  if not bytes or not hashed then return end
  local words = { 'saved', path, '--sha256', digits, '--json' }
  local job = run(words, fn.fnamemodify(path, ':h'), function() M.show(buffer) end, true)
  if job then saving[job] = true end
end

-- ── the gutter ──

local function sign(buffer, line, text, highlight, priority)
  if line < 1 or line > api.nvim_buf_line_count(buffer) then return end
  local mark = { sign_text = text, sign_hl_group = highlight, priority = priority }
  pcall(api.nvim_buf_set_extmark, buffer, blamed, line - 1, 0, mark)
end

local function show_blame(buffer, reply)
  if not api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].modified then return end
  api.nvim_buf_clear_namespace(buffer, blamed, 0, -1)
  runs_of[buffer] = reply.runs
  for _, each in ipairs(reply.runs or {}) do
    local name = name_of(each.writer)
    if name ~= 'outside' then
      local highlight = name:match('^user') and 'Comment' or 'DiagnosticInfo'
      for line = each.start, each['end'] do sign(buffer, line, name:sub(1, 2), highlight, 1) end
    end
  end
end

local function show_leases(buffer, reply)
  if not api.nvim_buf_is_loaded(buffer) then return end
  for _, lease in ipairs(reply.leases or {}) do
    if not lease.yours then
      local lines = type(lease.lines) == 'table' and lease.lines or { { start = 1, ['end'] = 1 } }
      for _, each in ipairs(lines) do
        for line = each.start or each[1], each['end'] or each[2] do sign(buffer, line, '!!', 'WarningMsg', 9) end
      end
      M.tell(api.nvim_buf_get_name(buffer), name_of(lease.holder), 'works on')
    end
  end
end

-- Ask who wrote the lines of a buffer and who holds leases there, and show it.
function M.show(buffer)
  local path, folder = file_of(buffer)
  if not path or not M.options.gutter then return end
  where_it_runs(folder, function()
    run({ 'blame', path, '--json' }, folder, function(reply)
      show_blame(buffer, reply)
      run({ 'claims', path, '--json' }, folder, function(leases) show_leases(buffer, leases) end)
    end)
  end)
end

function M.show_current(buffer)
  api.nvim_buf_clear_namespace(buffer, current, 0, -1)
  local line = api.nvim_win_get_cursor(0)[1]
  for _, each in ipairs(runs_of[buffer] or {}) do
    if each.start <= line and line <= each['end'] and not vim.bo[buffer].modified then
      local at = tostring(each.at or ''):sub(1, 16):gsub('T', ' ')
      local text = ('  %s  %s  %s'):format(name_of(each.writer), at, each.version or '')
      api.nvim_buf_set_extmark(buffer, current, line - 1, 0, { virt_text = { { text, 'Comment' } } })
    end
  end
end

-- ── notices ──

function M.tell(path, name, what)
  local key, now = path .. '\n' .. name, vim.loop.now()
  if not M.options.notices or (told[key] and now - told[key] < QUIET_MS) then return end
  told[key] = now
  vim.notify(('Quire: %s %s %s'):format(name, what, fn.fnamemodify(path, ':.')))
end

local function heard(workspace, line)
  local decoded, record = pcall(vim.json.decode, line)
  if not decoded or type(record) ~= 'table' or type(record.path) ~= 'string' then return end
  local buffer = fn.bufnr(fn.fnameescape(workspace .. '/' .. record.path))
  if buffer < 0 or not api.nvim_buf_is_loaded(buffer) then return end
  local agent = type(record.writer) == 'table' and record.writer.agent
  if type(agent) == 'string' and agent ~= '' then
    M.tell(workspace .. '/' .. record.path, name_of(record.writer), 'changed')
  end
  if vim.o.autoread and not vim.bo[buffer].modified then pcall(vim.cmd, 'checktime ' .. buffer) end -- asks nothing
  M.show(buffer)
end

-- Follow the journal of the workspace that holds `folder`.
function M.follow(folder)
  where_it_runs(folder, function(workspace)
    if feeds[workspace] or leaving then return end
    local rest = ''
    local job = fn.jobstart({ M.options.command, 'watch', '--json' }, {
      cwd = workspace,
      on_stdout = function(_, data)
        data[1] = rest .. data[1]
        rest = table.remove(data)
        for _, line in ipairs(data) do heard(workspace, line) end
      end,
      on_exit = function() feeds[workspace] = nil end,
    })
    feeds[workspace] = job > 0 and job or nil
  end)
end

-- ── life ──

function M.setup(options)
  M.options = vim.tbl_extend('force', M.options, options or {})
  api.nvim_clear_autocmds({ group = group })
  if fn.executable(M.options.command) == 0 then return end
  local function on(events, act) api.nvim_create_autocmd(events, { group = group, callback = act }) end
  on('BufWritePost', function(event) M.saved(event.buf, event.match) end)
  on('BufReadPost', function(event)
    local path, folder = file_of(event.buf)
    if not path then return end
    M.show(event.buf)
    if M.options.notices then M.follow(folder) end
  end)
  on({ 'CursorHold', 'BufLeave' }, function(event) M.show_current(event.buf) end)
  on('BufUnload', function(event) runs_of[event.buf] = nil end)
  on('VimLeavePre', function()
    leaving = true
    fn.jobwait(vim.tbl_keys(saving), LEAVE_MS)
    for _, job in pairs(feeds) do fn.jobstop(job) end
  end)
end

return M
