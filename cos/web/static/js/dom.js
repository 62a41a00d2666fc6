/** How elements are made: from text alone. The one exception is `sanitised`, at the end. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element. `props`: `class`, `text`, `on` (listeners by event), `data` (dataset), all else are attributes; an
 * attribute that is null or false is left out.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node|string|null|undefined|false)} children strings become text
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  apply(node, props);
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element of a drawing, as `el`. @returns {SVGElement} */
export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  apply(node, props);
  node.append(...children);
  return node;
}

function apply(node, { class: names, text, on, data, ...attributes }) {
  if (names) node.setAttribute('class', names);
  if (text !== undefined) node.textContent = text;
  for (const [event, listener] of Object.entries(on ?? {})) node.addEventListener(event, listener);
  Object.assign(node.dataset, data);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? '' : String(value));
}

/** Changes the text only when it differs: nothing is laid out again for the same words. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @returns {HTMLElement} the element with this id, which index.html has */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * Makes `nodes` the children of `parent`, in order, without touching those that are in their place.
 * @param {Element} parent
 * @param {Node[]} nodes
 */
export function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, place) => {
    if (parent.childNodes[place] !== node) parent.insertBefore(node, parent.childNodes[place] ?? null);
  });
}

export function button(text, listener, props = {}) {
  return el('button', { type: 'button', text, on: { click: listener }, ...props });
}

/** Whether keys that are letters belong to `node`, because somebody writes there. */
export function isWriting(node) {
  return node instanceof HTMLElement && (node.matches('textarea, select, input') || node.isContentEditable);
}

const TAGS = new Set(
  ('P BR HR H1 H2 H3 H4 H5 H6 UL OL LI BLOCKQUOTE PRE CODE EM STRONG B I S DEL A TABLE THEAD TBODY TR TH TD SPAN DIV ' +
    'SUP SUB DL DT DD KBD').split(' '),
);
const LINK = /^(https?:|mailto:)/i;

/**
 * The one place where markup becomes elements: `html` of a message, which the server has sanitised. Whatever is not
 * plain formatting is left out here once more, and a link opens apart.
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function sanitised(html) {
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  const fragment = document.createDocumentFragment();
  fragment.append(...[...parsed.body.childNodes].map(harmless).filter((node) => node !== null));
  return fragment;
}

function harmless(node) {
  if (node instanceof Text) return document.createTextNode(node.data);
  if (!(node instanceof HTMLElement) || !TAGS.has(node.tagName)) return null;
  const copy = document.createElement(node.tagName);
  if (node instanceof HTMLAnchorElement && LINK.test(node.getAttribute('href') ?? '')) {
    copy.setAttribute('href', node.getAttribute('href') ?? '');
    copy.setAttribute('target', '_blank');
    copy.setAttribute('rel', 'noopener noreferrer nofollow');
  }
  if (node instanceof HTMLOListElement && node.hasAttribute('start')) copy.setAttribute('start', String(node.start));
  copy.append(...[...node.childNodes].map(harmless).filter((child) => child !== null));
  if (copy instanceof HTMLTableElement) return wrappedTable(copy);
  return copy;
}

function wrappedTable(table) {
  return el('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': 'table' }, table);
}
