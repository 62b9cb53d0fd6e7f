import { useState } from 'preact/hooks';
import { CopyButton } from '../../../components/copy-button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { ROOT } from '../../../root.ts';
import type { ChatSession } from '../model/chat-session.ts';
import { COPY_FORMS, copyAs, type CopyForm } from '../request/copy-as.ts';
import { toRequestBody } from '../request/request-body.ts';

interface CopyAsDialogProps {
  readonly session: ChatSession;
  readonly onClose: () => void;
}

/** The request that would be sent, without a last answer: it is what would come. */
export function CopyAsDialog({ session, onClose }: CopyAsDialogProps) {
  const [form, setForm] = useState<CopyForm>('curl');
  const { settings } = session.chat.peek();
  const path = session.path();
  const asked = path.at(-1)?.role === 'assistant' ? path.slice(0, -1) : path;
  const body = toRequestBody(asked, settings, settings.model);
  const text = copyAs(form, body, location.origin + ROOT);
  return (
    <Dialog title="Copy as program" onClose={onClose} isWide>
      <div class="copy-as-forms" role="group" aria-label="Form">
        {COPY_FORMS.map((each) => (
          <button key={each} aria-pressed={each === form} onClick={() => setForm(each)}>
            {each}
          </button>
        ))}
        <CopyButton text={text} label="Copy" />
      </div>
      <pre class="copy-as-text" tabIndex={0}>
        {text}
      </pre>
    </Dialog>
  );
}
