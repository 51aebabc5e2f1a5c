import "../shared/theme.css";
import "./tensor.css";
import type { ToTensorPage } from "../../src/protocol/messages";
import { listen } from "../shared/host";
import { TensorView } from "./view";

let view: TensorView | undefined;
listen((message: ToTensorPage) => {
  if (message.type === "show") {
    view = new TensorView(message.subject);
    if (message.history) view.history.showVersions();
  }
  if (message.type === "ended") view?.ended();
  else void view?.renew();
});
