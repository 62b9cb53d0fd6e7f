/** Throws unless every element is closed in order and every attribute quoted. */
export function checkWellFormed(html: string): void {
  const body = html.replace(/^<!doctype html>/, '').replace(/<style>.*?<\/style>/s, '');
  const open: string[] = [];
  for (const match of body.matchAll(/<(\/?)([a-z][a-z0-9]*)((?:\s[^<>]*?)?)(\/?)>|[<>]/g)) {
    const [tag, closes, name, attributes = '', isEmpty] = match;
    if (name === undefined) throw new Error(`a stray ${tag} at ${match.index}`);
    const rest = attributes.replaceAll(/\s[a-z0-9:-]+="[^"<]*"/gi, '').trim();
    if (rest !== '') throw new Error(`bad attributes in ${tag}`);
    if (closes && open.pop() !== name) throw new Error(`${tag} closes nothing`);
    if (!closes && !isEmpty) open.push(name);
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(', ')}`);
}
