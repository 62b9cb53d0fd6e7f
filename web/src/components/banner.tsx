import { waitReason } from '../api/pending.ts';

/** Above every view: what keeps answers away. */
export function Banner() {
  return (
    <div role="status">{waitReason.value !== null && <p class="banner">{waitReason.value}</p>}</div>
  );
}
