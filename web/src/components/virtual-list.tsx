/** A long list of which only what is in sight exists. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks';

/** Items beyond the edges that exist already. */
const OVERSCAN = 6;

interface VirtualListProps {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly ids: readonly string[];
  /** Pixels of an item that was not shown yet. */
  readonly estimate: number;
  /** Brought into sight when it changes; null for none. */
  readonly sought?: string | null;
  readonly render: (id: string, index: number) => ComponentChildren;
}

export function VirtualList({ scroller, ids, estimate, sought, render }: VirtualListProps) {
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  const options = {
    count: ids.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: (index: number) => ids[index] ?? index,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => rerender(undefined),
  };
  const held = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  held.current ??= new Virtualizer<HTMLElement, HTMLElement>(options);
  const virtualizer = held.current;
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => {
    const index = typeof sought === 'string' ? ids.indexOf(sought) : -1;
    if (index >= 0) virtualizer.scrollToIndex(index, { align: 'start' });
  }, [sought]);
  return (
    <div class="virtual-list" style={{ height: `${virtualizer.getTotalSize()}px` }}>
      {virtualizer.getVirtualItems().map(({ key, index, start }) => (
        <div
          key={key}
          data-index={index}
          ref={(element) => virtualizer.measureElement(element)}
          class="virtual-item"
          style={{ transform: `translateY(${start}px)` }}
        >
          {render(ids[index] ?? '', index)}
        </div>
      ))}
    </div>
  );
}
