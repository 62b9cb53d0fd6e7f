/** Mulberry32. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Parts of texts: words, code, spaces, digits, scripts, emoji, odd characters. */
const PARTS: readonly string[][] = [
  [
    'the',
    'Lighthouse',
    "isn't",
    "we'll",
    "I'M",
    'naïve',
    'supercalifragilistic',
    'x',
    'HTTP',
    'camelCase',
  ],
  [
    'const x = 1;',
    'def f(a, b):',
    '<div class="a">',
    '{"k": [1, 2]}',
    '#include <x>',
    '// why?',
    '=>',
    '!==',
    '$HOME',
    '\\n',
  ],
  [' ', '  ', '    ', '\t', '\n', '\n\n', '\r\n', ' \n ', '\u00a0', '\u3000'],
  ['1', '42', '2026', '3.14159', '1,000,000', '0x1F', '٣', 'Ⅷ', '½', '12:30'],
  [
    'Grüße',
    'привет',
    'мир',
    'γειά',
    'שלום',
    'مرحبا',
    'नमस्ते',
    'สวัสดี',
    '你好',
    'こんにちは',
    '안녕하세요',
    'ქართული',
  ],
  ['🙂', '👩‍👩‍👧', '🇫🇷', '👍🏽', '❤️', '☃', '🧑‍💻', '™', '€', '→'],
  ['.', ',', '...', '?!', '"', "''", '(', ')]', '—', '…'],
  ['e\u0301', 'A\u030a', 'ﬁ', 'İ', 'ß', '\u200b', '\u200d', '\ufeff', '\u00ad', '𝔘'],
];

/** Texts of all kinds, always the same. */
export function tokenizerTexts(count: number): string[] {
  const random = randomNumbers(2026);
  const below = (limit: number) => Math.floor(random() * limit);
  const text = () => {
    const length = 1 + below(12);
    let made = '';
    for (let i = 0; i < length; i++) {
      const parts = PARTS[below(PARTS.length)] ?? [];
      made += parts[below(parts.length)] ?? '';
      if (random() < 0.5) made += ' ';
      // Any character of the basic plane but halves of surrogate pairs.
      if (random() < 0.05) made += String.fromCharCode(0x20 + below(0xd800 - 0x20));
    }
    return made;
  };
  return Array.from({ length: count }, text);
}
