// SPDX-License-Identifier: Apache-2.0
// What actions do inside of a page, in a world of their own: one function, called with the name of what is wanted. It runs on an element (this) or on none.
function (what, a, b) {
  const clean = s => (s.toWellFormed ? s.toWellFormed() : s)
  const squeeze = s => s.replace(/\s+/g, ' ').trim().toLowerCase()
  const isShown = e => {
    const r = e.getBoundingClientRect(), s = e.ownerDocument.defaultView.getComputedStyle(e)
    return r.width > 0 && r.height > 0 && s.visibility !== 'hidden'
  }
  // A document, or a shadow tree, and the shadow trees below it. Frames have a world of their own.
  function* roots(root) {
    yield root
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot) yield* roots(e.shadowRoot)
    }
  }
  const ownText = e => e.tagName === 'INPUT' ? (/^(button|submit|reset)$/.test(e.type) ? e.value : '') : e.textContent
  function byText(text) {
    const wanted = squeeze(text), found = []
    for (const root of roots(document))
      for (const e of root.querySelectorAll('*')) {
        if (/^(SCRIPT|STYLE|HEAD|TITLE|NOSCRIPT)$/.test(e.tagName)) continue
        const has = squeeze(ownText(e))
        if (has.includes(wanted) && ![...e.children].some(c => squeeze(ownText(c)).includes(wanted)) && isShown(e)) found.push([has === wanted, e])
      }
    return (found.find(f => f[0]) || found[0] || [, null])[1]
  }
  function find(target) {
    if (target.startsWith('text=')) return byText(target.slice(5))
    let first = null
    for (const root of roots(document)) {
      const all = root.querySelectorAll(target)
      for (const e of all) if (isShown(e)) return e
      first ||= all[0]
    }
    return first
  }
  const name = e => '<' + e.tagName.toLowerCase() + (e.id ? ' id=' + e.id : '') + '>'
  function aim(e) {
    if (!e.isConnected) return { gone: true }
    if (e.nodeType !== 1) e = e.parentElement
    const win = e.ownerDocument.defaultView, seen = e.getBoundingClientRect()
    if (seen.top < 0 || seen.left < 0 || seen.bottom > win.innerHeight || seen.right > win.innerWidth)
      e.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
    const whole = e.getBoundingClientRect(), r = [...e.getClientRects()].find(c => c.width > 0 && c.height > 0) || whole
    const left = Math.max(r.left, 0), top = Math.max(r.top, 0), right = Math.min(r.right, win.innerWidth), bottom = Math.min(r.bottom, win.innerHeight)
    const x = (left + right) / 2, y = (top + bottom) / 2
    const hit = e.getRootNode().elementFromPoint?.(x, y)
    const isOurs = !hit || e.contains(hit) || hit.contains(e) || hit.closest?.('label')?.control === e || hit.shadowRoot?.contains(e)
    return { x, y, left: whole.left, top: whole.top, width: whole.width, height: whole.height, scroll_x: win.scrollX, scroll_y: win.scrollY,
      view_width: win.innerWidth, view_height: win.innerHeight, shown: isShown(e) && right > left && bottom > top, disabled: e.matches(':disabled'), covered: isOurs ? '' : name(hit) }
  }
  // Whether the mouse comes here: to the element, or where it was aimed at. Between processes it is passed on by what was on the screen last.
  function watch(e) {
    const at = aim(e), events = new AbortController()
    if (at.gone) return at
    if (e.nodeType !== 1) e = e.parentElement
    const hear = m => { watched.came ||= m.isTrusted && (m.composedPath().includes(e) || (Math.abs(m.clientX - at.x) <= 2 && Math.abs(m.clientY - at.y) <= 2)) }
    globalThis.watched?.events.abort()
    globalThis.watched = { came: false, events }
    for (const type of ['pointermove', 'mousemove']) e.ownerDocument.defaultView.addEventListener(type, hear, { capture: true, signal: events.signal })
    return at
  }
  const byValue = /^(date|time|datetime-local|month|week|color|range)$/
  function set(e, value) {
    const trial = e.cloneNode()
    trial.value = value
    if (trial.value !== value) return { set: true, refused: true }
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), 'value').set.call(e, value)
    e.dispatchEvent(new Event('input', { bubbles: true }))
    e.dispatchEvent(new Event('change', { bubbles: true }))
    return { set: true, refused: false }
  }
  function focus(e, clear, value) {
    if (e.tagName === 'LABEL' && e.control) e = e.control
    if (e.matches(':disabled') || e.readOnly) return { error: name(e) + ' cannot be written to: it is ' + (e.readOnly ? 'read-only' : 'disabled') }
    if (e.tagName === 'INPUT' && byValue.test(e.type)) return set(e, value)
    const isField = e.tagName === 'TEXTAREA' || (e.tagName === 'INPUT' && !/^(button|submit|reset|checkbox|radio|file|image|hidden)$/.test(e.type))
    if (!isField && !e.isContentEditable) return { error: name(e) + ' takes no text' }
    e.focus()
    if (isField) clear ? e.select() : e.type !== 'number' && e.type !== 'email' && e.setSelectionRange(e.value.length, e.value.length)
    else {
      const s = e.ownerDocument.getSelection()
      s.selectAllChildren(e)
      if (!clear) s.collapseToEnd()
    }
    return { set: false, has: (isField ? e.value : e.textContent) !== '' }
  }
  function select(e, wanted) {
    if (e.tagName === 'LABEL' && e.control) e = e.control
    if (e.tagName !== 'SELECT') return { error: name(e) + ' is no list (<select>)' }
    const options = [...e.options], pick = options.filter(o => wanted.includes(o.value) || wanted.includes(o.label.trim()))
    for (const w of wanted)
      if (!pick.some(o => o.value === w || o.label.trim() === w))
        return { error: 'there is no option ' + JSON.stringify(w) + '; there are: ' + options.slice(0, 30).map(o => JSON.stringify(o.label.trim())).join(', ') }
    if (pick.length > 1 && !e.multiple) return { error: 'only one option can be selected there' }
    for (const o of options) o.selected = pick.includes(o)
    e.dispatchEvent(new Event('input', { bubbles: true }))
    e.dispatchEvent(new Event('change', { bubbles: true }))
    return { selected: pick.map(o => clean(o.label.trim())) }
  }
  const part = (s, limit) => ({ text: clean(s.slice(0, limit)), length: s.length, truncated: s.length > limit })
  function holds(target, state, text) {
    let e = null
    if (target) e = find(target)
    const shown = !!e && isShown(e)
    if (target && (state === 'hidden' ? shown : state === 'attached' ? !e : !shown)) return false
    return !text || squeeze((e || document.body || document.documentElement)?.innerText || '').includes(squeeze(text))
  }
  switch (what) {
  case 'find': return find(a)
  case 'aim': return aim(this)
  case 'watch': return watch(this)
  case 'came': return { came: !!globalThis.watched?.came }
  case 'middle': return { x: innerWidth / 2, y: innerHeight / 2, width: innerWidth, height: innerHeight }
  case 'focus': return focus(this, a, b)
  case 'select': return select(this, a)
  case 'text': return part((this.nodeType ? this.innerText ?? this.textContent : document.body?.innerText) || '', a)
  case 'dom': return part((this.nodeType ? this : document.documentElement)?.outerHTML || '', a)
  case 'holds': return holds(a, b[0], b[1])
  }
}
