-- What the book needs beyond pandoc: conditional content, callouts, numbers, references.
-- It reads one JSON text from the file that the metadata `shardwise` names, and leaves one in `shardwise-data`:
--   in:  format ("html" or "epub"), chapter (number or nil), classes (of the book's own CSS), keys (of the bibliography),
--        quoted (inline expressions that the author shows with two backticks),
--        references ("elsewhere": another page lists them; "here": this one; "end": at its end)
--   out: title, labels, headings, refs, links, images, problems (each with a text to search for)

local config
local data = {
  labels = pandoc.List(), headings = pandoc.List(), refs = pandoc.List(),
  links = pandoc.List(), images = pandoc.List(), problems = pandoc.List(),
}
local counts = { fig = 0, tbl = 0, eq = 0 }
local sections = { 0, 0, 0, 0, 0, 0 }
local NAMES = { fig = 'Figure', tbl = 'Table' }
local CALLOUTS = { note = 'Note', tip = 'Tip', warning = 'Warning', important = 'Important', caution = 'Caution' }
-- Formats that hold, by what is made; an EPUB keeps what is HTML and runs no script.
local HOLDS = { html = { html = true, ['html:js'] = true }, epub = { html = true, epub = true } }
-- Classes that compose.py writes around cells.
local CELLS = pandoc.List {
  'cell', 'cell-output', 'cell-output-stdout', 'cell-output-stderr',
  'cell-output-display', 'cell-output-markdown',
}

local function problem(needle, message, remedy)
  data.problems:insert { needle = needle, message = message, remedy = remedy }
end

local function html(blocks)
  return pandoc.write(pandoc.Pandoc(blocks), 'html', { html_math_method = 'mathml' })
end

local function raw(text)
  return pandoc.RawBlock('html', text)
end

local function label_kind(id)
  return id:match '^(%l+)%-' or ''
end

local function label(id, kind, text)
  data.labels:insert { id = id, kind = kind, number = text }
end

local function next_number(kind)
  counts[kind] = counts[kind] + 1
  return (config.chapter and config.chapter .. '.' or '') .. counts[kind]
end

-- Complain about classes and attributes that Quarto may give a meaning that this builder does not.
local function inspect(element, classes, attributes, what)
  for _, class in ipairs(element.classes) do
    if not classes:includes(class) and not config.classes[class] then
      problem(class, "unknown class '" .. class .. "' on a " .. what,
        "use a class of the subset in the builder's README, or define it in the book's CSS")
    end
  end
  for key in pairs(element.attributes) do
    -- What starts with data- is the page's own business, in both engines.
    if not attributes:includes(key) and not key:match '^data%-' then
      problem(key .. '=', "unknown attribute '" .. key .. "' on a " .. what,
        'leave it out; see the subset in the builder\'s README')
    end
  end
end

-- Conditional content ------------------------------------------------------------------------

local function condition(element)
  local shown = element.classes:includes 'content-visible'
  if not shown and not element.classes:includes 'content-hidden' then return nil end
  local when, unless = element.attributes['when-format'], element.attributes['unless-format']
  local visible = HOLDS[config.format]
  local holds = (when == nil or visible[when] or false) and not (unless and visible[unless])
  for key in pairs(element.attributes) do
    if key ~= 'when-format' and key ~= 'unless-format' then
      problem(key .. '=', "unknown condition '" .. key .. "'", 'use when-format or unless-format')
    end
  end
  if holds == shown then return element.content end
  return {}
end

-- Floats: figures and tables -------------------------------------------------------------------

local function float(id, content, caption)
  local kind = label_kind(id)
  local number = next_number(kind)
  label(id, kind, number)
  local place = kind == 'tbl' and 'top' or 'bottom'
  local lead = pandoc.Inlines { pandoc.Str(NAMES[kind] .. '\u{a0}' .. number .. ':'), pandoc.Space() }
  local open = ('<figcaption class="quarto-float-caption-%s quarto-float-caption quarto-float-%s">')
    :format(place, kind)
  local figcaption = pandoc.Blocks { raw(open), pandoc.Plain(lead .. caption), raw '</figcaption>' }
  local parts = pandoc.Blocks { raw('<figure class="quarto-float quarto-float-' .. kind .. ' figure">') }
  if place == 'top' then parts:extend(figcaption) end
  parts:extend(content)
  if place == 'bottom' then parts:extend(figcaption) end
  parts:insert(raw '</figure>')
  return pandoc.Div(parts, { id = id, class = 'quarto-float quarto-figure' })
end

local function float_div(div)
  inspect(div, pandoc.List {}, pandoc.List {}, 'div')
  local caption = div.content[#div.content]
  if #div.content < 2 or caption.t ~= 'Para' then
    problem('#' .. div.identifier, "'" .. div.identifier .. "' has no caption",
      'end the div with a paragraph: it is the caption')
    return nil
  end
  div.content:remove()
  return float(div.identifier, div.content, caption.content)
end

local function captioned_table(tbl)
  inspect(tbl, pandoc.List {}, pandoc.List {}, 'table')
  if label_kind(tbl.identifier) ~= 'tbl' then return nil end
  local id, caption = tbl.identifier, pandoc.utils.blocks_to_inlines(tbl.caption.long)
  tbl.identifier, tbl.caption = '', { long = {} }
  return float(id, { tbl }, caption)
end

local function captioned_image(figure)
  if label_kind(figure.identifier) ~= 'fig' then return nil end
  local caption = pandoc.utils.blocks_to_inlines(figure.caption.long)
  return float(figure.identifier, figure.content, caption)
end

local function image(img)
  inspect(img, pandoc.List {}, pandoc.List { 'fig-alt', 'width', 'height' }, 'image')
  local alt = img.attributes['fig-alt'] or pandoc.utils.stringify(img.caption)
  img.attributes['fig-alt'] = nil
  if not alt:match '%S' then
    problem(img.src, "image '" .. img.src:sub(1, 80) .. "' has no alt text",
      'say what it shows: fig-alt="…" on the image, or \'#| fig-alt: …\' in the cell')
  end
  if not img.src:match '^data:' then data.images:insert(img.src) end
  img.caption = { pandoc.Str(alt) }
  return img
end

-- Callouts ---------------------------------------------------------------------------------------

local function callout(div, kind)
  inspect(div, pandoc.List { 'callout-' .. kind }, pandoc.List { 'title', 'collapse' }, 'callout')
  local title = pandoc.Inlines { pandoc.Str(CALLOUTS[kind]) }
  local first = div.content[1]
  if div.attributes.title then
    title = pandoc.utils.blocks_to_inlines(pandoc.read(div.attributes.title, 'markdown').blocks)
  elseif first and first.t == 'Header' then
    title = first.content
    div.content:remove(1)
  end
  local collapse = div.attributes.collapse
  local outer, header, inner = 'div', 'div', 'div'
  if config.format == 'epub' then collapse = nil end -- few of its readers can open what is folded
  if collapse then outer, header, inner = 'details', 'summary', 'span' end -- no div in a summary
  local classes = 'callout callout-style-default callout-' .. kind .. ' callout-titled'
  local id = div.identifier ~= '' and (' id="' .. div.identifier .. '"') or ''
  local spoken = '<span class="visually-hidden">' .. CALLOUTS[kind] .. ': </span>'
  local blocks = pandoc.Blocks {
    raw(('<%s%s class="%s"%s>'):format(outer, id, classes, collapse == 'false' and ' open' or '')),
    raw('<' .. header .. ' class="callout-header">'),
    raw(('<%s class="callout-icon-container"><i class="callout-icon" aria-hidden="true"></i></%s>')
      :format(inner, inner)),
    raw('<' .. inner .. ' class="callout-title-container">'),
    pandoc.Plain(pandoc.Inlines { pandoc.RawInline('html', spoken) } .. title),
    raw('</' .. inner .. '>'),
    raw('</' .. header .. '>'),
    pandoc.Div(div.content, { class = 'callout-body-container callout-body' }),
    raw('</' .. outer .. '>'),
  }
  return blocks
end

local function div(element)
  for _, class in ipairs(element.classes) do
    local kind = class:match '^callout%-(%l+)$'
    if kind and CALLOUTS[kind] then return callout(element, kind) end
  end
  local kind = label_kind(element.identifier)
  if NAMES[kind] then return float_div(element) end
  local made = pandoc.List {
    'callout-body-container', 'callout-body', 'quarto-float', 'quarto-figure',
  }
  inspect(element, CELLS .. made, pandoc.List {}, 'div')
end

-- Code --------------------------------------------------------------------------------------------

local function code_block(block)
  local fold, summary = block.attributes['code-fold'], block.attributes['code-summary']
  block.attributes['code-fold'], block.attributes['code-summary'] = nil, nil
  -- The first class is the language; pandoc decides whether it knows it.
  if (block.classes[1] or ''):match '^{' then
    problem(block.classes[1], 'this cell is inside another block', 'start it in the first column')
  end
  local known = pandoc.List { block.classes[1], 'cell-code' }
  inspect(block, known, pandoc.List {}, 'code block')
  if not fold then return block end
  local open = fold == 'show' and ' open' or ''
  return {
    raw('<details class="code-fold"' .. open .. '>'),
    raw '<summary>', pandoc.Plain(pandoc.Inlines { pandoc.Str(summary) }), raw '</summary>',
    block,
    raw '</details>',
  }, false
end

-- The builder runs each expression before pandoc reads the text; one that is left was overlooked.
local function code(element)
  if element.text:match '^{python}' and not config.quoted[element.text] then
    problem(element.text, "'" .. element.text .. "' stands where it is not run",
      'write `{python} expression` on one line of ordinary text')
  end
end

local function only_html(element)
  if element.format:match '^html' then return nil end
  problem(element.text:match '%S*', "raw " .. element.format .. " has no place in a page",
    'write Markdown, math between $ signs, or raw {=html}')
end

-- Sections, equations, references -------------------------------------------------------------------

local glued = false

-- Markup that pandoc left as text: the author meant something by it.
local function leftover(element)
  if glued then return end
  if element.text:match '^:::' then
    glued = true -- the rest of the text follows from this
    problem(element.text, "'" .. element.text .. "' is read as text", 'leave an empty line before it')
  elseif element.text:match '^{[#.]' then
    problem(element.text, "'" .. element.text .. "' belongs to nothing",
      'put it after a heading, a table caption, an image or an equation $$ … $$')
  end
end

local function header(element)
  inspect(element, pandoc.List { 'unnumbered', 'unlisted' }, pandoc.List { 'data-number' }, 'heading')
  local level, number = element.level, nil
  if level == 1 then
    problem('# ' .. pandoc.utils.stringify(element):match '%S*', 'a chapter has one title',
      "use '##' for its sections")
    return nil
  end
  if config.chapter and not element.classes:includes 'unnumbered' then
    sections[level] = sections[level] + 1
    for deeper = level + 1, 6 do sections[deeper] = 0 end
    number = config.chapter
    for at = 2, level do number = number .. '.' .. sections[at] end
    element.attributes['data-number'] = number
  end
  if label_kind(element.identifier) == 'sec' then label(element.identifier, 'sec', number) end
  return element
end

local function equations(inlines)
  for at = #inlines, 2, -1 do
    local marker = inlines[at]
    local id, rest = (marker and marker.t == 'Str' and marker.text or ''):match '^{#(eq%-[%w_-]+)}(.*)$'
    local before = at - 1
    if id and inlines[before].t:match '^S' and before > 1 then before = before - 1 end
    local math = inlines[before]
    if id and math.t == 'Math' and math.mathtype == 'DisplayMath' then
      for _ = before, at do inlines:remove(before) end
      inlines:insert(before, pandoc.Span({ math }, { id = id, class = 'quarto-equation' }))
      if rest ~= '' then inlines:insert(before + 1, pandoc.Str(rest)) end
    end
  end
  return inlines
end

local function number_equation(span)
  local id = span.identifier
  if label_kind(id) ~= 'eq' then
    inspect(span, pandoc.List {}, pandoc.List {}, 'span')
    return nil
  end
  local number = next_number 'eq'
  label(id, 'eq', number)
  -- Beside the formula and not in it, so that it stands still when a long one scrolls.
  span.content = {
    pandoc.Span(span.content, { class = 'equation' }),
    pandoc.Space(),
    pandoc.Span('(' .. number .. ')', { class = 'equation-number' }),
  }
  return span, false
end

local KINDS = { fig = true, tbl = true, eq = true, sec = true }

local function cite(element)
  local crossref = 0
  for _, citation in ipairs(element.citations) do
    if KINDS[label_kind(citation.id)] then crossref = crossref + 1
    elseif not config.keys[citation.id] then
      problem('@' .. citation.id, "no entry '" .. citation.id .. "' in the bibliography",
        'correct the key, or add the entry to the bibliography')
    end
  end
  if crossref == 0 then return nil end
  local result = pandoc.Inlines {}
  for at, citation in ipairs(element.citations) do
    if not KINDS[label_kind(citation.id)] or #citation.prefix + #citation.suffix > 0 then
      -- Also "@eq-x [@key]": Markdown reads the bracket as a part of the first, and Quarto drops it.
      problem('@' .. citation.id, "'@" .. citation.id .. "' shares a citation with a cross-reference",
        'a reference is @fig-x, [-@fig-x] or [@fig-x; @tbl-y], with a word before the next bracket')
    end
    if at > 1 then result:extend { pandoc.Str ',', pandoc.Space() } end
    local bare = citation.mode == 'SuppressAuthor' and ' bare' or ''
    data.refs:insert(citation.id)
    -- The number may stand on another page: Python fills it in when all pages are known.
    result:insert(pandoc.RawInline('html', '<sw-ref to="' .. citation.id .. '"' .. bare .. '></sw-ref>'))
  end
  return result
end

local function link(element)
  inspect(element, pandoc.List { 'uri', 'email' }, pandoc.List {}, 'link')
  if element.target:match '^%a[%w+.-]*:' or element.target == '' then return nil end
  data.links:insert(element.target)
  element.target = element.target:gsub('%.qmd$', '.html'):gsub('%.qmd#', '.html#')
  return element
end

-- After everything is numbered: the page's contents, and the numbers before the headings.
local function plain(inlines)
  -- Without what may stand in a page once: notes, links and anchors.
  return inlines:walk {
    Note = function() return {} end,
    Link = function(link) return link.content end,
    Span = function(span) span.identifier = '' return span end,
  }
end

local function heading(element)
  local number = element.attributes['data-number']
  if not element.classes:includes 'unlisted' then
    data.headings:insert {
      id = element.identifier, level = element.level, number = number,
      title = html { pandoc.Plain(plain(element.content)) },
    }
  end
  if not number then return nil end
  local span = pandoc.Span({ pandoc.Str(number) }, { class = 'header-section-number' })
  element.content = pandoc.Inlines { span, pandoc.Space() } .. element.content
  return element
end

local function take_title(doc)
  for at, block in ipairs(doc.blocks) do
    if block.t == 'Header' and block.level == 1 then
      inspect(block, pandoc.List { 'unnumbered' }, pandoc.List {}, 'heading')
      doc.blocks:remove(at)
      block.content:walk { Note = function()
        problem('# ', 'a footnote stands in the title of a chapter', 'put it into the text')
      end }
      local id = block.identifier
      if label_kind(id) == 'sec' then
        data.labels:insert { id = id, kind = 'chapter', number = config.chapter }
      end
      data.title = {
        id = id, text = pandoc.utils.stringify(block.content),
        html = html { pandoc.Plain(block.content) },
      }
      return
    end
  end
end

function Pandoc(doc)
  local told = assert(io.open(pandoc.utils.stringify(doc.meta.shardwise)))
  config = pandoc.json.decode(told:read 'a')
  told:close()
  doc.blocks = doc.blocks:walk { Div = condition, Span = condition }
  take_title(doc)
  doc.blocks = doc.blocks:walk { Inlines = equations }
  doc.blocks = doc.blocks:walk {
    traverse = 'topdown',
    Div = div, Table = captioned_table, Figure = captioned_image, Image = image,
    CodeBlock = code_block, Code = code, RawBlock = only_html, RawInline = only_html,
    Header = header, Span = number_equation, Cite = cite, Link = link, Str = leftover,
  }
  if config.references == 'end' then
    doc.blocks:insert(pandoc.Header(2, 'References', { class = 'unnumbered' }))
    doc.blocks:insert(pandoc.Div({}, { id = 'refs' }))
  end
  doc = pandoc.utils.citeproc(doc)
  if config.references == 'elsewhere' then
    doc.blocks = doc.blocks:walk { Div = function(d) if d.identifier == 'refs' then return {} end end }
  end
  doc.blocks = doc.blocks:walk { Header = heading }
  doc.meta.shardwise = nil
  doc.meta['shardwise-data'] = pandoc.MetaInlines { pandoc.RawInline('html', pandoc.json.encode(data)) }
  return doc
end
