if vim.fn.has('nvim-0.7') == 1 then
  require('quire').setup()
end
