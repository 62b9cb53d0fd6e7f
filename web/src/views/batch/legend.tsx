import { useEffect, useRef } from 'preact/hooks';
import type { Cell, Work } from './cell.ts';
import { drawCell, drawSentBack } from './marks.ts';
import { readPalette } from './palette.ts';

const WIDTH = 26;
const HEIGHT = 16;

const NONE: Omit<Cell, 'work'> = {
  slot: 0,
  request: 1,
  start: 0,
  computed: 1,
  sampled: 1,
  pages: 1,
  cached: 0,
  drafted: 0,
  accepted: 0,
};

const cell = (work: Work, numbers: Partial<Cell> = {}): Cell => ({ ...NONE, work, ...numbers });

const ENTRIES: readonly (readonly [string, Cell | 'memory' | 'class'])[] = [
  ['prefill', cell('prefill', { computed: 16 })],
  ['prefill after a cached prefix (striped share)', cell('prefill', { computed: 16, cached: 16 })],
  ['decode', cell('decode')],
  ['draft: accepted, then rejected', cell('verify', { drafted: 4, accepted: 2 })],
  ['waits for its grammar', cell('grammar')],
  ['no part in the step', cell('held')],
  ['failed', cell('failed')],
  ['kept text', cell('kept')],
  ['slot given up: memory', 'memory'],
  ['slot given up: better class', 'class'],
];

/** What marks mean, each drawn as on the lanes. */
export function Legend() {
  return (
    <ul class="batch-legend" aria-label="Legend">
      {ENTRIES.map(([words, shown]) => (
        <li key={words}>
          <Sample shown={shown} />
          {words}
        </li>
      ))}
      <li>
        <i class="batch-swatch step" /> time of the step
      </li>
      <li>
        <i class="batch-swatch predicted" /> what the cost model expected
      </li>
    </ul>
  );
}

function Sample({ shown }: { readonly shown: Cell | 'memory' | 'class' }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const draw = () => {
      const { current: element } = canvas;
      const context = element?.getContext('2d');
      if (!element || !context) return;
      const ratio = devicePixelRatio;
      element.width = WIDTH * ratio;
      element.height = HEIGHT * ratio;
      const { marks } = readPalette(element.closest<HTMLElement>('.batch') ?? element);
      const box = { x: 0, y: 0, width: element.width, height: element.height };
      const fill = (
        mark: keyof typeof marks,
        x: number,
        y: number,
        width: number,
        height: number,
      ) => {
        context.fillStyle = marks[mark];
        context.fillRect(x, y, width, height);
      };
      if (typeof shown === 'string') drawSentBack(shown, box, fill);
      else drawCell(shown, box, fill);
    };
    draw();
    // The theme may change.
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', draw);
    const observer = new MutationObserver(draw);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      media.removeEventListener('change', draw);
      observer.disconnect();
    };
  }, [shown]);
  return <canvas ref={canvas} class="batch-sample" aria-hidden="true" />;
}
