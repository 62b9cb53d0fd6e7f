import { describe, expect, it } from 'vitest';

import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { placeholder } from '../../../src/model/vision/placeholder.ts';
import {
  inspectedVision,
  VISION_MODELS,
  visionFolder,
  visionReference,
} from '../../support/vision.ts';

describe.each(VISION_MODELS)('%s', (name) => {
  it('has the text that the processor writes for an image', async () => {
    const { config } = await inspectedVision(name, 'tiles');
    const { images } = await visionReference(name);
    for (const { placeholder: expected, ...grid } of Object.values(images)) {
      expect(placeholder(grid, config)).toBe(expected);
    }
  });

  it('has the tokens of prompts with images', async () => {
    const { config } = await inspectedVision(name, 'tiles');
    const { images, prompts } = await visionReference(name);
    const tokenizer = await TextTokenizer.load(visionFolder(name));
    expect(Object.keys(prompts)).toHaveLength(3);
    for (const { text, images: files, ids } of Object.values(prompts)) {
      const left = [...files];
      const expanded = text.replaceAll(config.texts.image, () => {
        const grid = images[left.shift() ?? ''];
        return grid === undefined ? '' : placeholder(grid, config);
      });
      expect(left).toEqual([]);
      expect([...tokenizer.encode(expanded, { addSpecialTokens: false })]).toEqual(ids);
      const marks = ids.filter((id) => id === config.imageTokenId).length;
      const tiles = files.map((file) => {
        const { rows, columns } = images[file] ?? { rows: 0, columns: 0 };
        return rows * columns + 1;
      });
      const numTiles = tiles.reduce((sum, each) => sum + each, 0);
      expect(marks).toBe(numTiles * config.tokensPerTile);
    }
  });
});

it('an image that is not split has no rows', () => {
  const texts = { image: '<image>', around: '<around>', whole: '<whole>' };
  expect(placeholder({ rows: 0, columns: 0 }, { texts, tokensPerTile: 2 })).toBe(
    '<around><whole><image><image><around>',
  );
});
