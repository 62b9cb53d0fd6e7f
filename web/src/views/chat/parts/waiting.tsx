import { useEffect, useState } from 'preact/hooks';
import { waitReason } from '../../../api/pending.ts';

/** Time in milliseconds below which a wait needs no words. */
const QUICK_MS = 2000;

/** Before the first token: for how long by now, and why, where that is known. */
export function Waiting({ since }: { readonly since: number }) {
  const [elapsedMs, setElapsed] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setElapsed(Date.now() - since), 500);
    return () => clearInterval(timer);
  }, [since]);
  const words = `Waiting for the first token, for ${Math.floor(elapsedMs / 1000)} s …`;
  return (
    <p class="waiting soft small">
      <span class="cursor" />
      {elapsedMs >= QUICK_MS && (waitReason.value ?? words)}
    </p>
  );
}
