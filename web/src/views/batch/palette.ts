/** Colors of the canvas, from the style sheet: they follow the theme. */
import { type Mark, MARKS } from './marks.ts';

export const INKS = [
  'surface',
  'lane',
  'line',
  'text',
  'ink',
  'step',
  'predicted',
  'lost',
  'cursor',
] as const;
export type Ink = (typeof INKS)[number];

/** Colors of one request, in its hue. */
export interface BarColors {
  readonly queue: string;
  readonly prefill: string;
  readonly decode: string;
}

/** Hues that neighbors have; then they begin again. */
const NUM_HUES = 18;

export interface Palette {
  readonly marks: Readonly<Record<Mark, string>>;
  readonly inks: Readonly<Record<Ink, string>>;
  /** By the number of a bar. */
  readonly bars: readonly BarColors[];
  /** Equal for equal palettes. */
  readonly key: string;
}

/** @param element whose custom properties `--batch-NAME` they are, as `color` has them */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement('span');
  // Else a change of color is under way, however short, when it is read.
  probe.style.transitionProperty = 'none';
  element.append(probe);
  const colorOf = (color: string) => {
    probe.style.color = color;
    // The computed color has no `light-dark()` in it, which a canvas would not know.
    return getComputedStyle(probe).color;
  };
  const named = (name: string) => colorOf(`var(--batch-${name})`);
  const marks = Object.fromEntries(MARKS.map((name) => [name, named(name)]));
  const inks = Object.fromEntries(INKS.map((name) => [name, named(name)]));
  const bars = Array.from({ length: NUM_HUES }, (_, index) => barColors(hueOf(index), colorOf));
  probe.remove();
  return {
    marks: marks as Palette['marks'],
    inks: inks as Palette['inks'],
    bars,
    key: JSON.stringify([marks, inks]),
  };
}

export function barColorsOf({ bars }: Palette, number: number): BarColors {
  return bars[number % bars.length] ?? { queue: '', prefill: '', decode: '' };
}

/** By the golden angle: those next to each other in time are far apart in hue. */
function hueOf(index: number): number {
  return Math.round((index * 137.508 + 250) % 360);
}

function barColors(hue: number, colorOf: (color: string) => string): BarColors {
  const shade = (light: string, dark: string) =>
    colorOf(`light-dark(oklch(${light} ${hue}), oklch(${dark} ${hue}))`);
  return {
    queue: shade('0.66 0.08', '0.6 0.07'),
    prefill: shade('0.52 0.14', '0.74 0.13'),
    decode: shade('0.85 0.075', '0.42 0.08'),
  };
}
