import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../../../components/icon.tsx';
import { notify } from '../../../components/notices.tsx';
import { takesImages } from '../../../api/models.ts';
import { pickFiles } from '../../../components/save-file.ts';
import { readAttachment } from '../model/attachments.ts';
import type { ChatSession } from '../model/chat-session.ts';
import { type Draft, draftOf, NEW_CHAT, setDraft } from '../model/drafts.ts';
import type { Attachment } from '../model/types.ts';
import { focusComposer } from './focus.ts';

const MAX_PIXELS = 240;

/** Enter sends, Shift and Enter begin a line, Escape stops. Files can be dropped or pasted. */
export function Composer({ session }: { readonly session: ChatSession }) {
  const { id, title } = session.chat.value;
  const key = title === '' ? NEW_CHAT : id;
  const [{ text, attachments }, setShown] = useState<Draft>(() => draftOf(key));
  const field = useRef<HTMLTextAreaElement>(null);
  const isRunning = session.isRunning.value;
  const isEmpty = text.trim() === '' && attachments.length === 0;
  const change = (draft: Draft) => {
    setShown(draft);
    setDraft(key, draft);
  };
  useEffect(focusComposer, []);
  useEffect(() => {
    const { current } = field;
    if (current === null) return;
    current.style.height = 'auto';
    current.style.height = `${Math.min(MAX_PIXELS, current.scrollHeight + 2)}px`;
  }, [text]);
  const sees = takesImages(session.chat.value.settings.model);
  const attach = async (files: Iterable<File>) => {
    const added: Attachment[] = [];
    for (const file of files) {
      try {
        added.push(await readAttachment(file, sees));
      } catch (error) {
        notify(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
      }
    }
    const now = draftOf(key);
    change({ ...now, attachments: [...now.attachments, ...added] });
  };
  const send = () => {
    if (isEmpty || isRunning) return;
    const [fault] = session.faults.peek();
    if (fault !== undefined) {
      notify(`${fault[0]}: ${fault[1]} Correct it or clear it first.`, true);
      return;
    }
    change({ text: '', attachments: [] });
    void session.send(text.trim(), attachments);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files ?? []);
      }}
    >
      {attachments.length > 0 && (
        <ul class="attachments">
          {attachments.map((attachment) => (
            <li key={attachment.name}>
              {attachment.image !== undefined && <img src={attachment.image} alt="" />}
              {attachment.name}
              <button
                type="button"
                class="quiet"
                aria-label={`Remove ${attachment.name}`}
                onClick={() =>
                  change({
                    text,
                    attachments: attachments.filter((each) => each !== attachment),
                  })
                }
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="composer-field">
        <button
          type="button"
          class="quiet"
          aria-label={sees ? 'Attach images or text files' : 'Attach text files'}
          title={sees ? 'Attach images or text files' : 'Attach text files'}
          onClick={() => void pickFiles('').then(attach)}
        >
          <Icon name="attach" />
        </button>
        <textarea
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder="Message"
          value={text}
          onInput={(event) => change({ text: event.currentTarget.value, attachments })}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            send();
          }}
          onPaste={(event) => {
            const files = [...(event.clipboardData?.files ?? [])];
            if (files.length === 0) return;
            event.preventDefault();
            void attach(files);
          }}
        />
        {isRunning ? (
          <button
            type="button"
            class="primary"
            aria-label="Stop"
            title="Stop (Escape)"
            onClick={() => session.stop()}
          >
            <Icon name="stop" />
          </button>
        ) : (
          <button class="primary" disabled={isEmpty} aria-label="Send" title="Send (Enter)">
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
