import { array, assert, constantFrom, property } from 'fast-check';
import { expect, test } from 'vitest';
import { parseXml, textOf, XmlError } from '../../../src/model/bucket/xml.ts';

test('reads elements, their text and its entities', () => {
  const read = parseXml(
    '<?xml version="1.0" encoding="UTF-8"?>\n<A xmlns="http://s3/"><B>1 &lt;&#38;&#x3e; &quot;</B><C/><D a=\'1\' >\n</D></A>\n',
  );
  expect(read.name).toBe('A');
  expect(textOf(read, 'B')).toBe('1 <&> "');
  expect(textOf(read, 'C')).toBe('');
  expect(textOf(read, 'none')).toBeNull();
});

test.each([
  '',
  'text',
  '<A>',
  '<A></B>',
  '</A>',
  '<A/><B/>',
  '<A/>text',
  '<A',
  '<!DOCTYPE A [<!ENTITY b "c">]><A>&b;</A>',
  '<A>&b;</A>',
  '<A>& </A>',
  '<A>&#x110000;</A>',
  '<A><?php ?></A>',
  '<A><![CDATA[b]]></A>',
  `<A b="${'c'.repeat(1000)}"/>`,
  '<A>'.repeat(20) + '</A>'.repeat(20),
  `<A>${'<B/>'.repeat(60_000)}</A>`,
])('refuses %.60s', (text) => {
  expect(() => parseXml(text)).toThrow(XmlError);
});

test('takes a time that grows with what it reads, and throws one kind of error', () => {
  const started = performance.now();
  for (const piece of ['<', '&', '<A ', '<A b="', '&#x', ' ', '<A>']) {
    expect(() => parseXml(piece.repeat(1_000_000))).toThrow(XmlError);
  }
  expect(performance.now() - started).toBeLessThan(5000);
  const any = array(constantFrom('<A>', '</A>', '<B/>', '&lt;', '&', '<', '>', 'x', '<!', '?>'));
  assert(
    property(any, (pieces) => {
      try {
        parseXml(pieces.join(''));
        return true;
      } catch (error) {
        return error instanceof XmlError;
      }
    }),
  );
});
