/** What is in each picture. */
import type { Page } from 'playwright-core';

export interface Shot {
  /** Of the file. */
  readonly name: string;
  readonly path: string;
  /** Of `chairlift serve`. */
  readonly args?: readonly string[];
  /** 1200 by 750 if left out. */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Brings the page to where it is worth a picture. */
  readonly prepare?: (page: Page, url: string) => Promise<void>;
}

export const SHOTS: readonly Shot[] = [
  { name: 'chat', path: '/' },
  { name: 'completion', path: '/ui/completion' },
  { name: 'batch', path: '/ui/batch' },
  { name: 'status', path: '/ui/status' },
  { name: 'bench', path: '/ui/bench' },
];
