import { describe, expect, it } from 'vitest';
import { serviceClasses } from '../../../src/front/service-classes/service-class.ts';

describe('service classes', () => {
  it('are four by default, and the usual one promises what there was before', () => {
    const { classes, usual, best } = serviceClasses();
    const names = ['ultra-low', 'interactive', 'standard', 'batch'];
    expect(classes.map(({ name }) => name)).toEqual(names);
    expect([usual.name, best.name]).toEqual(['standard', 'standard']);
    expect(usual).toMatchObject({ priority: 0, itlMs: null, deadlineMs: null, share: 1 });
  });

  it('are changed one by one, and added to', () => {
    const { classes } = serviceClasses({
      interactive: { itlMs: 20 },
      night: { priority: 2000, share: 0.25, tiers: ['cheap'] },
    });
    const names = ['ultra-low', 'interactive', 'standard', 'batch', 'night'];
    expect(classes.map(({ name }) => name)).toEqual(names);
    expect(classes[1]).toMatchObject({
      itlMs: 20,
      ttftMs: 500,
      priority: -10,
      tiers: ['priority'],
    });
    expect(classes[4]).toMatchObject({ ttftMs: null, share: 0.25 });
  });

  it.each([
    [{ night: { priority: 5, tiers: ['flex'] } }, {}, "two service classes are called 'flex'"],
    [{ night: { priority: 5, tiers: ['auto'] } }, {}, "two service classes are called 'auto'"],
    [{ night: {} }, {}, 'two service classes have the priority 0'],
    [
      {},
      { usual: 'gold' },
      "there is no service class 'gold'; there are ultra-low, interactive, standard, batch",
    ],
  ])('are refused: %j %j', (given, names, message) => {
    expect(() => serviceClasses(given, names)).toThrow(message);
  });
});
