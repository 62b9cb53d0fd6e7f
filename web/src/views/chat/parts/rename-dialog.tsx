import { useState } from 'preact/hooks';
import { Dialog } from '../../../components/dialog.tsx';
import type { ChatSession } from '../model/chat-session.ts';

interface RenameDialogProps {
  readonly session: ChatSession;
  readonly onClose: () => void;
}

export function RenameDialog({ session, onClose }: RenameDialogProps) {
  const [title, setTitle] = useState(session.chat.peek().title);
  return (
    <Dialog title="Rename chat" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          session.rename(title.trim() || 'Chat');
          onClose();
        }}
      >
        <label class="field">
          Title
          <input value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button class="primary">Rename</button>
        </div>
      </form>
    </Dialog>
  );
}
