import { formatMs, formatNumber } from '../../format.ts';
import { visible } from './probability.ts';
import type { Outcome } from './use-pad.ts';

/** Costs of the last run, and why it ended. */
export function OutcomeLine({ outcome }: { readonly outcome: Outcome | null }) {
  if (outcome === null) return <p class="pad-outcome soft small" role="status" />;
  if (outcome.error !== null) {
    return (
      <p class="pad-outcome bad-text small" role="alert">
        {outcome.error}
      </p>
    );
  }
  return (
    <p class="pad-outcome soft small numbers" role="status">
      {factsOf(outcome).join(' · ')}
    </p>
  );
}

function factsOf({ usage, finishReason, stopReason, firstMs, totalMs }: Outcome): string[] {
  const facts: string[] = [];
  if (usage !== null) {
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    const found = cached > 0 ? ` (${formatNumber(cached)} cached)` : '';
    facts.push(`${formatNumber(usage.prompt_tokens)} tokens in${found}`);
    facts.push(`${formatNumber(usage.completion_tokens)} out`);
    const numAfterFirst = usage.completion_tokens - 1;
    if (firstMs !== null && numAfterFirst > 0) {
      facts.push(`first after ${formatMs(firstMs)}`);
      facts.push(`then ${formatNumber((numAfterFirst * 1000) / (totalMs - firstMs))}/s`);
    }
  }
  if (typeof stopReason === 'string') facts.push(`stopped at ${visible(stopReason)}`);
  else if (finishReason === 'length') facts.push('token limit reached');
  else if (finishReason === 'stop') facts.push('the model ended it');
  else if (finishReason !== null) facts.push(finishReason);
  return facts;
}
