import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../scripts/simulate/event-queue.ts';

describe('the virtual clock', () => {
  it('runs events in order of time, and in order of scheduling at the same time', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (times) => {
        const events = new EventQueue();
        const ran: { time: number; index: number }[] = [];
        for (const [index, time] of times.entries()) {
          events.schedule(time, () => {
            expect(events.nowMs).toBe(time);
            ran.push({ time, index });
          });
        }
        events.runUntil(Infinity);
        const inOrder = [...ran].sort((a, b) => a.time - b.time || a.index - b.index);
        expect(ran).toEqual(inOrder);
        expect(ran).toHaveLength(times.length);
      }),
    );
  });

  it('stops at the time it is told, and runs what events schedule on the way', () => {
    const events = new EventQueue();
    const ran: number[] = [];
    const again = () => {
      ran.push(events.nowMs);
      events.schedule(events.nowMs + 10, again);
    };
    events.schedule(5, again);
    events.runUntil(30);
    expect(ran).toEqual([5, 15, 25]);
    expect(events).toMatchObject({ nowMs: 30, nextMs: 35 });
  });

  it('takes a time in the past as now', () => {
    const events = new EventQueue();
    events.runUntil(100);
    let ranAt = 0;
    events.schedule(50, () => (ranAt = events.nowMs));
    events.runUntil(100);
    expect(ranAt).toBe(100);
  });
});
