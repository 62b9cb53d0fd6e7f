import { useEffect, useRef } from 'preact/hooks';
import type { Cell, Work } from './cell.ts';
import { drawCell, drawSentBack } from './marks.ts';
import { barColorsOf, type Palette, readPalette } from './palette.ts';
import type { Mode } from './viewport.ts';

const WIDTH = 26;
const HEIGHT = 16;

type Draw = (context: CanvasRenderingContext2D, palette: Palette) => void;

interface Entry {
  readonly name: string;
  /** Meaning of the mark, and why it is there. */
  readonly meaning: string;
  readonly draw: Draw;
}

const box = { x: 0, y: 0, width: WIDTH, height: HEIGHT };

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

function cell(work: Work, numbers: Partial<Cell> = {}): Draw {
  return (context, { marks }) =>
    drawCell({ ...NONE, work, ...numbers }, box, (mark, x, y, width, height) => {
      context.fillStyle = marks[mark];
      context.fillRect(x, y, width, height);
    });
}

function sentBack(why: 'memory' | 'class'): Draw {
  return (context, { marks }) =>
    drawSentBack(why, box, (mark, x, y, width, height) => {
      context.fillStyle = marks[mark];
      context.fillRect(x, y, width, height);
    });
}

function bar(phase: 'queue' | 'prefill' | 'decode' | 'held'): Draw {
  return (context, palette) => {
    const colors = barColorsOf(palette, 0);
    context.fillStyle = phase === 'held' ? colors.prefill : colors[phase];
    if (phase === 'held') context.fillRect(0, HEIGHT / 2, WIDTH, 2);
    else context.fillRect(0, 1, WIDTH, HEIGHT - 2);
    if (phase !== 'queue') return;
    context.clearRect(1.5, 2.5, WIDTH - 3, HEIGHT - 5);
  };
}

function tick(name: 'memory' | 'class' | 'failed'): Draw {
  return (context, { marks }) => {
    context.fillStyle = marks[name];
    context.fillRect(WIDTH / 2 - 2, 0, 4, HEIGHT);
  };
}

const BARS: readonly Entry[] = [
  { name: 'Queue', meaning: 'waits for a place in the batch', draw: bar('queue') },
  {
    name: 'Prefill',
    meaning: 'its prompt is computed, many tokens in a step',
    draw: bar('prefill'),
  },
  { name: 'Decode', meaning: 'it writes its answer, a token in each step', draw: bar('decode') },
  {
    name: 'Held',
    meaning: 'has a place and no part in the step, or waits for its JSON grammar',
    draw: bar('held'),
  },
  {
    name: 'Out of memory',
    meaning: 'gave up its place, and begins again later',
    draw: tick('memory'),
  },
  {
    name: 'Better class',
    meaning: 'gave up its place to a better service class',
    draw: tick('class'),
  },
  { name: 'Failed', meaning: 'ended with an error', draw: tick('failed') },
];

const CELLS: readonly Entry[] = [
  {
    name: 'Prefill',
    meaning: 'a part of its prompt is computed',
    draw: cell('prefill', { computed: 16 }),
  },
  {
    name: 'Prefix found',
    meaning: 'the striped share of the prompt was in the cache',
    draw: cell('prefill', { computed: 16, cached: 16 }),
  },
  { name: 'Decode', meaning: 'one more token of its answer', draw: cell('decode') },
  {
    name: 'Draft',
    meaning: 'several tokens were guessed and checked at once: accepted, then rejected',
    draw: cell('verify', { drafted: 4, accepted: 2 }),
  },
  { name: 'Grammar', meaning: 'waits for its JSON grammar', draw: cell('grammar') },
  { name: 'Held', meaning: 'has its slot and no part in the step', draw: cell('held') },
  { name: 'Failed', meaning: 'ended with an error', draw: cell('failed') },
  {
    name: 'Kept text',
    meaning: 'of an ended request, for prompts that begin alike',
    draw: cell('kept'),
  },
  { name: 'Out of memory', meaning: 'its request gave up the slot', draw: sentBack('memory') },
  { name: 'Better class', meaning: 'gave up the slot to it', draw: sentBack('class') },
];

/** Meanings of marks, each drawn as in the picture. */
export function Legend({ mode }: { readonly mode: Mode }) {
  return (
    <dl class="batch-legend" aria-label="Legend">
      {(mode === 'requests' ? BARS : CELLS).map(({ name, meaning, draw }) => (
        <div key={name}>
          <dt>
            <Sample draw={draw} /> {name}
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
      <div>
        <dt>
          <i class="batch-swatch step" /> Step
        </dt>
        <dd>how long it took</dd>
      </div>
      <div>
        <dt>
          <i class="batch-swatch predicted" /> Expected
        </dt>
        <dd>how long the scheduler thought that it would take</dd>
      </div>
      <div>
        <dt>
          <i class="batch-swatch running" /> KV in use
        </dt>
        <dd>memory of running requests</dd>
      </div>
      <div>
        <dt>
          <i class="batch-swatch kept" /> KV kept
        </dt>
        <dd>memory of ended texts, given up when it is needed</dd>
      </div>
    </dl>
  );
}

function Sample({ draw }: { readonly draw: Draw }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const paint = () => {
      const { current: element } = canvas;
      const context = element?.getContext('2d');
      if (!element || !context) return;
      element.width = WIDTH * devicePixelRatio;
      element.height = HEIGHT * devicePixelRatio;
      context.scale(devicePixelRatio, devicePixelRatio);
      draw(context, readPalette(element.closest<HTMLElement>('.batch') ?? element));
    };
    paint();
    // The theme may change.
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', paint);
    const observer = new MutationObserver(paint);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      media.removeEventListener('change', paint);
      observer.disconnect();
    };
  }, [draw]);
  return <canvas ref={canvas} class="batch-sample" aria-hidden="true" />;
}
