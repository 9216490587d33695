// Texts of a page that do not stand out from what is behind them: [text, class, ratio], by the WCAG rule of 4.5 (large: 3).
() => {
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return [...m.slice(0, 3), m.length > 3 ? m[3] : 1]; };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const paper = e => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > .99) return c; }
    return [255, 255, 255, 1]; };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!walk.currentNode.data.trim() || !box.width || e.closest('script,style,title,desc,.sr,.skip')) continue;
    const ink = parse(e.namespaceURI.endsWith('svg') ? s.fill : s.color), back = paper(e);
    const [a, b] = [light(ink.slice(0, 3)), light(back.slice(0, 3))].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.6 && s.fontWeight >= 600);
    if (ratio < (large ? 3 : 4.5)) found.push([walk.currentNode.data.trim().slice(0, 40), e.className, ratio.toFixed(2)]);
  }
  return found;
}
