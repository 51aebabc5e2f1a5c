;;; session.el --- A debugging session in Emacs with dap-mode  -*- lexical-binding: t -*-

;; emacs -q --batch -l session.el
;; Environment: PYTHON, EXPECTED (output of sample.py), TRANSCRIPT (file that the adapter writes).
;; tdb-dap has to be on PATH.  Provider, `tdb-step-back', modes and the client of lsp-mode are those of
;; docs/editors/emacs.md, as a user pastes them.

;;; Code:

(package-initialize)
(require 'json)
(require 'dap-mode)
(require 'dap-ui) ; defines dap-exception-breakpoints, which dap-mode reads

(defconst session-page (expand-file-name "../../../docs/editors/emacs.md" (file-name-directory load-file-name)))

(defconst session-patience 60 "Seconds to wait for the adapter.")

;; Nothing of the user's may come in, and nothing be left behind.
(setq dap-auto-configure-features nil
      dap-auto-show-output nil
      dap-breakpoints-file (make-temp-file "dap-breakpoints")
      lsp-session-file (make-temp-file "lsp-session"))

(defvar session-expected (json-read-file (getenv "EXPECTED")))
(defvar session-ended nil)
(add-hook 'dap-terminated-hook (lambda (_) (setq session-ended t)))

(defun session-expect (&rest path)
  "The value at PATH, a list of keys, of what is to be expected."
  (let ((value session-expected))
    (dolist (key path value)
      (setq value (alist-get key value)))))

(defun session-wait (what predicate)
  "Wait until PREDICATE holds; WHAT says what for.  Returns its value."
  (let ((end (+ (float-time) session-patience)) value)
    (while (and (not (setq value (funcall predicate))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or value (error "Timed out waiting for %s" what))))

(defun session-check (condition what &rest arguments)
  "Fail with WHAT, formatted with ARGUMENTS, unless CONDITION holds."
  (unless condition (error "Not so: %s" (apply #'format what arguments)))
  (message "ok: %s" (apply #'format what arguments)))

(defun session-ask (command arguments)
  "The body of the answer to the request COMMAND with ARGUMENTS."
  (let (answer)
    (dap--send-message (dap--make-request command arguments)
                       (lambda (response) (setq answer response))
                       (dap--cur-session))
    (session-wait command (lambda () answer))
    (unless (eq t (gethash "success" answer))
      (error "%s: %s" command (gethash "message" answer)))
    (gethash "body" answer)))

(defun session-paste (page heading)
  "Evaluate the snippets of PAGE below HEADING; returns how many there are."
  (with-temp-buffer
    (insert-file-contents page)
    (re-search-forward (concat "^## " heading "$"))
    (let ((end (save-excursion (re-search-forward "^## ") (point))) (count 0))
      (while (re-search-forward "^```elisp\n" end t)
        (eval (read (concat "(progn " (buffer-substring (point) (progn (re-search-forward "^```$") (match-beginning 0))) ")")) t)
        (setq count (1+ count)))
      count)))

(defun session-stopped ()
  "Wait until dap-mode has gone to where the program stands; return that frame."
  (session-wait "a stop" (lambda () (dap--debug-session-active-frame (dap--cur-session)))))

(defun session-resume (command &rest arguments)
  "Call COMMAND with ARGUMENTS, which makes the program go on, and wait until it stops."
  (setf (dap--debug-session-active-frame (dap--cur-session)) nil)
  (apply command arguments)
  (session-stopped))

(defun session-operands ()
  "The variables of the scope Operands of the frame that dap-mode has selected."
  (let* ((frame (gethash "id" (dap--debug-session-active-frame (dap--cur-session))))
         (scopes (gethash "scopes" (session-ask "scopes" (list :frameId frame))))
         (operands (seq-find (lambda (scope) (equal "Operands" (gethash "name" scope))) scopes)))
    (append (gethash "variables" (session-ask "variables" (list :variablesReference (gethash "variablesReference" operands)))) nil)))

(defun session-tensor-text (tensor)
  "How a TENSOR's row begins: its type and shape."
  (alist-get 'row tensor))

(let ((mlir (session-expect 'mlir))
      (pool (session-expect 'lines 'pool))
      (operand (session-tensor-text (session-expect 'operand))))
  (session-check (= 2 (session-paste session-page "dap-mode")) "the page has two snippets for dap-mode")
  (session-check (= 2 (session-paste session-page "Without a session")) "the page has two snippets for language clients")
  (find-file mlir)
  (goto-char (point-min))
  (forward-line (1- pool))
  (dap-breakpoint-add)
  (dap-start-debugging
   (list :type "tdb" :request "launch" :name "session" :cwd (session-expect 'directory)
         :dap-server-path (list (getenv "PYTHON") "-m" "tdb_dap.adapter" "--log" (getenv "TRANSCRIPT"))
         :program (session-expect 'directory)
         :inputs (concat (session-expect 'directory) "/input.npz")
         :stopOnEntry :json-false))
  (session-wait "a session" #'dap--cur-session)
  (session-stopped)
  (session-check (equal mlir (buffer-file-name)) "Emacs shows final.mlir (%s)" (buffer-file-name))
  (session-check (= pool (line-number-at-pos)) "point is on the pooling, line %d (%d)" pool (line-number-at-pos))
  (let ((values (mapcar (lambda (variable) (gethash "value" variable)) (session-operands))))
    (session-check (seq-some (lambda (value) (string-prefix-p operand value)) values)
                   "one operand is %s (%S)" operand values))

  (session-resume #'dap-next (dap--cur-session))
  (session-check (/= pool (line-number-at-pos)) "a step leaves the line (%d)" (line-number-at-pos))
  (session-resume #'tdb-step-back)
  (session-check (= pool (line-number-at-pos)) "a step back returns to it (%d)" (line-number-at-pos))

  (dap-breakpoint-delete-all)
  (session-resume #'dap-continue (dap--cur-session) (dap--debug-session-thread-id (dap--cur-session)))
  (dap-disconnect (dap--cur-session))
  (session-wait "the end" (lambda () session-ended))
  (message "ok: the session ended")

  ;; Without a session: the language server that the page gives to lsp-mode.
  (session-check (eq major-mode 'tdb-mlir-mode) "final.mlir is in the mode of the page (%s)" major-mode)
  (setq lsp-auto-guess-root t lsp-enable-snippet nil lsp-enable-file-watchers nil)
  (lsp)
  (session-wait "the language server"
                (lambda () (seq-some (lambda (w) (eq 'initialized (lsp--workspace-status w))) (lsp-workspaces))))
  (goto-char (point-min))
  (forward-line (1- pool))
  (search-forward (session-expect 'values 'result))
  (goto-char (match-beginning 0))
  (let ((hover (format "%S" (lsp-request "textDocument/hover" (lsp--text-document-position-params)))))
    (session-check (string-match-p "Pool2D" hover) "a hover names the op (%.60s)" hover)))

;;; session.el ends here
