/** Texts that stand for an image in a prompt, as a family's processor writes them. */
import type { TileGrid } from '../../images/tiles.ts';
import { numPackedRows } from './packed-rows.ts';
import type { TileVision } from './vision-config.ts';
import type { VisionConfig } from './vision-part.ts';

/** How an image is shown in a prompt. */
export interface ShownImage {
  /** Text in its place: a token for each embedding, and what is around them. */
  readonly placeholder: string;
  readonly tokensPerTile: number;
  /** Tokens of each line of a tile, where there is a token of text after each line. */
  readonly tokensPerLine?: number;
  /** How tokens of its tile lie in the image, row by row, where their positions depend on it. */
  readonly grid?: { readonly height: number; readonly width: number };
  /** Whether the tokens of a tile see each other, those after them too. */
  readonly seesWhole?: boolean;
}

/** The token that templates write for each image. */
export function imageMark(config: VisionConfig): string {
  switch (config.kind) {
    case 'tiles':
    case 'canvas':
      return config.texts.image;
    case 'grid':
    case 'anyres':
      return config.imageToken;
    case 'lines':
      return config.texts.image;
    case 'square':
      return config.texts.mark;
  }
}

/** @param grid of its tiles or cells, see cutImage */
export function shownImage(grid: TileGrid, config: VisionConfig): ShownImage {
  if (config.kind === 'tiles') {
    return { placeholder: placeholder(grid, config), tokensPerTile: config.tokensPerTile };
  }
  if (config.kind === 'square') {
    const { texts, tokensPerTile, seesWhole } = config;
    const text = `${texts.before}${texts.image.repeat(tokensPerTile)}${texts.after}`;
    return { placeholder: text, tokensPerTile, ...(seesWhole && { seesWhole }) };
  }
  if (config.kind === 'anyres') {
    const tokensPerTile = numPackedRows(grid, config.tokensPerTile);
    return { placeholder: config.imageToken.repeat(tokensPerTile), tokensPerTile };
  }
  const { rows: height, columns: width } = grid;
  if (config.kind === 'canvas') {
    const { texts, tokensPerTile } = config;
    // The last tile is the whole image.
    const tokens = texts.image.repeat(tokensPerTile * (height * width + 1));
    return { placeholder: `${texts.before}${tokens}${texts.after}`, tokensPerTile };
  }
  const tokensPerTile = height * width;
  if (config.kind === 'lines') {
    const { image, lineEnd, end } = config.texts;
    const lines = Array.from({ length: height }, () => image.repeat(width));
    return {
      placeholder: `${lines.join(lineEnd)}${end}`,
      tokensPerTile,
      tokensPerLine: width,
    };
  }
  const text = config.imageToken.repeat(tokensPerTile);
  return { placeholder: text, tokensPerTile, grid: { height, width } };
}

/** As the processors of Idefics 3 and SmolVLM write it: also what part of the image each tile is. */
export function placeholder(
  { rows, columns }: TileGrid,
  { texts, tokensPerTile }: Pick<TileVision, 'texts' | 'tokensPerTile'>,
): string {
  const tile = (name: string) => `${texts.around}${name}${texts.image.repeat(tokensPerTile)}`;
  const lines = Array.from({ length: rows }, (_row, row) => {
    const tiles = Array.from({ length: columns }, (_column, column) =>
      tile(`<row_${row + 1}_col_${column + 1}>`),
    );
    return `${tiles.join('')}\n`;
  });
  const whole = `${tile(texts.whole)}${texts.around}`;
  return lines.length === 0 ? whole : `${lines.join('')}\n${whole}`;
}
