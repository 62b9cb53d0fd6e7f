/** The server's ends of the connections of a test. */
import { Server } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished, vi } from 'vitest';

/** @returns those that were accepted since, in their order */
export function acceptedSockets(): () => Socket[] {
  const emitted = vi.spyOn(Server.prototype, 'emit');
  onTestFinished(() => emitted.mockRestore());
  const calls: readonly (readonly unknown[])[] = emitted.mock.calls;
  return () =>
    calls.filter(([name]) => name === 'connection').map(([, socket]) => socket as Socket);
}
