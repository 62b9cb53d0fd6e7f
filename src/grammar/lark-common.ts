/** Terminals that a Lark grammar may import from `common`, as regular expressions. */

const INT = '[0-9]+';
const DECIMAL = '(?:[0-9]+\\.[0-9]*|\\.[0-9]+)';
const EXPONENT = '[eE][+-]?[0-9]+';
const FLOAT = `(?:${INT}${EXPONENT}|${DECIMAL}(?:${EXPONENT})?)`;
const NUMBER = `(?:${FLOAT}|${INT})`;
const NEWLINE = '(?:\\r?\\n)+';

export const LARK_COMMON: ReadonlyMap<string, string> = new Map(
  Object.entries({
    DIGIT: '[0-9]',
    HEXDIGIT: '[0-9a-fA-F]',
    INT,
    SIGNED_INT: `[+-]?${INT}`,
    DECIMAL,
    FLOAT,
    SIGNED_FLOAT: `[+-]?${FLOAT}`,
    NUMBER,
    SIGNED_NUMBER: `[+-]?${NUMBER}`,
    ESCAPED_STRING: '"(?:[^"\\\\\\n]|\\\\[^\\n])*"',
    LCASE_LETTER: '[a-z]',
    UCASE_LETTER: '[A-Z]',
    LETTER: '[A-Za-z]',
    WORD: '[A-Za-z]+',
    CNAME: '[_A-Za-z][_A-Za-z0-9]*',
    WS_INLINE: '[ \\t]+',
    WS: '[ \\t\\f\\r\\n]+',
    CR: '\\r',
    LF: '\\n',
    NEWLINE,
    SH_COMMENT: '#[^\\n]*',
    CPP_COMMENT: '//[^\\n]*',
    C_COMMENT: '/\\*(?:[^*]|\\*+[^*/])*\\*+/',
    SQL_COMMENT: '--[^\\n]*',
  }),
);
