import { Icon } from '../../../components/icon.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import type { Message } from '../model/types.ts';

interface VersionSwitchProps {
  readonly session: ChatSession;
  readonly message: Message;
}

/** Goes through the branches that begin here. */
export function VersionSwitch({ session, message }: VersionSwitchProps) {
  const versions = session.versionsOf(message);
  if (versions.length < 2) return null;
  const index = versions.findIndex((version) => version.some(({ id }) => id === message.id));
  const show = (step: number) => {
    const [next] = versions[index + step] ?? [];
    if (next !== undefined) session.choose(next);
  };
  return (
    <span class="version-switch">
      <button
        class="quiet"
        disabled={index === 0}
        onClick={() => show(-1)}
        aria-label="Previous version"
      >
        <Icon name="left" />
      </button>
      <span class="numbers">
        {index + 1}/{versions.length}
      </span>
      <button
        class="quiet"
        disabled={index === versions.length - 1}
        onClick={() => show(1)}
        aria-label="Next version"
      >
        <Icon name="right" />
      </button>
    </span>
  );
}
