/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C program that embeds a Java VM: it is linked with -ljvm and calls JNI_CreateJavaVM itself,
 * without the java launcher.  Orders are C structs; Java matches them and calls C for their
 * text, so stacks go C, Java, C.
 */
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS_DEFAULT 600000
#define NOTE_BYTES 1000
/* One order in this number is not settled, and stays in memory. */
#define OPEN_EVERY 8

struct order {
	struct order *next;
	int number;
	char note[NOTE_BYTES];
};

static struct order *open_orders;

static __attribute__((noinline)) struct order *
receive_order(int number)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order) {
		perror("embedded");
		exit(1);
	}
	order->number = number;
	return order;
}

static void
settle_order(struct order *order)
{
	if (order->number % OPEN_EVERY == 0) {
		order->next = open_orders;
		open_orders = order;
	} else {
		free(order);
	}
}

static __attribute__((noinline)) char *
format_order(int number)
{
	size_t length = 200;
	char *text = malloc(length);

	if (text)
		snprintf(text, length, "order %d: buy %d at %d.%02d", number, number % 100,
			number % 977, number % 100);
	return text;
}

static jstring JNICALL
describe_order(JNIEnv *env, jclass class, jint number)
{
	char *text = format_order(number);
	jstring string = text ? (*env)->NewStringUTF(env, text) : NULL;

	(void)class;
	free(text);
	return string;
}

static JNIEnv *
start_vm(const char *archive, JavaVM **vm_ret)
{
	char class_path[4096];
	JavaVMOption options[] = {{.optionString = class_path}};
	JavaVMInitArgs arguments = {
		.version = JNI_VERSION_10,
		.nOptions = 1,
		.options = options,
	};
	JNIEnv *env;

	snprintf(class_path, sizeof(class_path), "-Djava.class.path=%s", archive);
	if (JNI_CreateJavaVM(vm_ret, (void **)&env, &arguments) != JNI_OK) {
		fprintf(stderr, "embedded: cannot create a Java VM\n");
		exit(1);
	}
	return env;
}

/* Ends the program with Java's own message if an exception is pending. */
static void
check(JNIEnv *env)
{
	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionDescribe(env);
		exit(1);
	}
}

/*
 * The VM looks up native methods only in libraries that Java loaded, so a program registers its
 * own.
 */
static void
register_natives(JNIEnv *env, jclass matcher)
{
	JNINativeMethod methods[] = {
		{(char *)"describe", (char *)"(I)Ljava/lang/String;", (void *)describe_order}};

	(*env)->RegisterNatives(env, matcher, methods, 1);
	check(env);
}

int
main(int count, char **arguments)
{
	int orders = count > 2 ? atoi(arguments[2]) : ORDERS_DEFAULT;
	JavaVM *vm;
	JNIEnv *env;
	jclass matcher;
	jmethodID match;
	jmethodID kept;

	if (count < 2) {
		fprintf(stderr, "usage: embedded ARCHIVE [ORDERS]\n");
		return 2;
	}
	env = start_vm(arguments[1], &vm);
	matcher = (*env)->FindClass(env, "exchange/Matcher");
	check(env);
	register_natives(env, matcher);
	match = (*env)->GetStaticMethodID(env, matcher, "match", "(I)V");
	kept = (*env)->GetStaticMethodID(env, matcher, "kept", "()I");
	check(env);
	for (int number = 0; number < orders; number++) {
		struct order *order = receive_order(number);

		/* Frees the local references of one order when it is done. */
		(*env)->PushLocalFrame(env, 4);
		(*env)->CallStaticVoidMethod(env, matcher, match, number);
		check(env);
		(*env)->PopLocalFrame(env, NULL);
		settle_order(order);
	}
	printf("%d orders, %d open in C, %d trades kept in Java\n", orders,
		(orders + OPEN_EVERY - 1) / OPEN_EVERY,
		(*env)->CallStaticIntMethod(env, matcher, kept));
	(*vm)->DestroyJavaVM(vm);
	return 0;
}
