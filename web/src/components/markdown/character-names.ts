/** Characters by their names and numbers, as HTML has them: those of HTML 4, which models use. */

/** From U+00A0 on. */
const LATIN =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn ' +
  'sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave ' +
  'Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ' +
  'ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN ' +
  'szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute ' +
  'icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml ' +
  'yacute thorn yuml';
/** From U+0391 on; `_` is no character. */
const GREEK =
  'Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho _ Sigma ' +
  'Tau Upsilon Phi Chi Psi Omega _ _ _ _ _ _ _ alpha beta gamma delta epsilon zeta eta theta iota ' +
  'kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi psi omega';
/** The others, each with its character. */
const OTHERS =
  "alefsym=ℵ amp=& apos=' and=∧ ang=∠ asymp=≈ bdquo=„ bull=• cap=∩ circ=ˆ clubs=♣ cong=≅ crarr=↵ cup=∪ " +
  'Dagger=‡ dagger=† dArr=⇓ darr=↓ diams=♦ empty=∅ equiv=≡ euro=€ exist=∃ fnof=ƒ forall=∀ frasl=⁄ ' +
  'ge=≥ gt=> hArr=⇔ harr=↔ hearts=♥ hellip=… image=ℑ infin=∞ int=∫ isin=∈ lang=〈 lArr=⇐ larr=← ' +
  'lceil=⌈ ldquo=“ le=≤ lfloor=⌊ lowast=∗ loz=◊ lsaquo=‹ lsquo=‘ lt=< mdash=— minus=− nabla=∇ ' +
  'ndash=– ne=≠ ni=∋ notin=∉ nsub=⊄ OElig=Œ oelig=œ oline=‾ oplus=⊕ or=∨ otimes=⊗ part=∂ permil=‰ ' +
  'perp=⊥ piv=ϖ Prime=″ prime=′ prod=∏ prop=∝ quot=" radic=√ rang=〉 rArr=⇒ rarr=→ rceil=⌉ rdquo=” ' +
  'real=ℜ rfloor=⌋ rsaquo=› rsquo=’ sbquo=‚ Scaron=Š scaron=š sdot=⋅ sim=∼ spades=♠ sub=⊂ sube=⊆ ' +
  'sum=∑ sup=⊃ supe=⊇ there4=∴ thetasym=ϑ tilde=˜ trade=™ uArr=⇑ uarr=↑ upsih=ϒ weierp=℘ Yuml=Ÿ ' +
  'emsp=\u2003 ensp=\u2002 thinsp=\u2009 zwnj=\u200C zwj=\u200D lrm=\u200E rlm=\u200F';

const CHARACTERS = new Map<string, string>([
  ...inOrder(LATIN, 0xa0),
  ...inOrder(GREEK, 0x391),
  ...OTHERS.split(' ').map((pair) => pair.split('=') as [string, string]),
]);

/** Puts characters in the place of their names and numbers; of unknown names nothing is changed. */
export function withCharacters(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,8}));/g,
    (whole: string, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return CHARACTERS.get(name) ?? whole;
      return characterOf(decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal));
    },
  );
}

function characterOf(code: number): string {
  const isOne = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isOne ? String.fromCodePoint(code) : '\uFFFD';
}

function inOrder(names: string, first: number): [string, string][] {
  return names.split(' ').map((name, index) => [name, String.fromCharCode(first + index)]);
}
