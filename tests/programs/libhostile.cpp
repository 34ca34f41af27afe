// SPDX-License-Identifier: Apache-2.0
// The native half of Hostile.java.
#include <jni.h>
#include <jvmti.h>
#include <pthread.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

// Found by its unmangled name.
extern "C" __attribute__((noinline)) void *
hostile_site(size_t bytes)
{
	void *block = malloc(bytes);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

namespace
{

const size_t block_bytes = 1000;

long native_bytes;
JavaVM *vm;

struct Counting {
	int *count;

	~Counting()
	{
		free(malloc(100));
		++*count;
	}
};

bool
run(JNIEnv *env, jobject callback)
{
	jclass type = env->GetObjectClass(callback);
	jmethodID method = env->GetMethodID(type, "run", "()V");

	env->DeleteLocalRef(type);
	if (method)
		env->CallVoidMethod(callback, method);
	return env->ExceptionCheck();
}

// The callback's exception is pending while these frames' destructors run.
__attribute__((noinline)) bool
call_through(JNIEnv *env, jobject callback, int depth, int *count)
{
	Counting here{count};

	return depth > 1 ? call_through(env, callback, depth - 1, count) : run(env, callback);
}

__attribute__((noinline)) void
descend(int depth, int *count)
{
	Counting here{count};

	if (depth == 1)
		throw std::runtime_error("the text of an exception is on the heap as well");
	descend(depth - 1, count);
}

struct Visit {
	jobject callback;
	int *visits;
};

void *
visit(void *argument)
{
	const Visit *visit = static_cast<const Visit *>(argument);
	JNIEnv *env;

	if (vm->AttachCurrentThread(reinterpret_cast<void **>(&env), nullptr) != JNI_OK)
		return nullptr;
	if (!run(env, visit->callback))
		__atomic_fetch_add(visit->visits, 1, __ATOMIC_RELAXED);
	vm->DetachCurrentThread();
	return nullptr;
}

jvmtiEnv *
get_jvmti()
{
	static jvmtiEnv *jvmti;
	jvmtiCapabilities wanted = {};

	if (jvmti)
		return jvmti;
	if (vm->GetEnv(reinterpret_cast<void **>(&jvmti), JVMTI_VERSION_1_2) != JNI_OK)
		return nullptr;
	wanted.can_redefine_classes = 1;
	return jvmti->AddCapabilities(&wanted) ? nullptr : jvmti;
}

void JNICALL
ignore(jvmtiEnv *, JNIEnv *, jthread, jobject, jclass, jlong)
{
}

} // namespace

extern "C" {

JNIEXPORT jint JNICALL
JNI_OnLoad(JavaVM *loader, void *)
{
	vm = loader;
	return JNI_VERSION_1_8;
}

JNIEXPORT jboolean JNICALL
Java_Hostile_callThrough(JNIEnv *env, jclass, jobject callback, jint depth)
{
	int count = 0;
	bool thrown = call_through(env, callback, depth, &count);
	jthrowable error = env->ExceptionOccurred();

	if (!thrown)
		return JNI_FALSE;
	// Errors and rethrown exceptions are passed to the caller.
	env->ExceptionClear();
	jclass plain = env->FindClass("java/lang/IllegalStateException");
	jmethodID message =
		plain ? env->GetMethodID(plain, "getMessage", "()Ljava/lang/String;") : nullptr;
	bool is_again = !message || !env->IsInstanceOf(error, plain);
	if (!is_again) {
		jobject text = env->CallObjectMethod(error, message);

		is_again = !env->ExceptionCheck() && text &&
			   env->GetStringLength(static_cast<jstring>(text)) == 5;
	}
	if (is_again) {
		env->ExceptionClear();
		env->Throw(error);
	}
	return JNI_TRUE;
}

JNIEXPORT jint JNICALL
Java_Hostile_throwAndCatch(JNIEnv *, jclass, jint depth)
{
	int count = 0;

	try {
		descend(depth, &count);
	} catch (const std::exception &) {
		count += 1000;
	}
	return count;
}

JNIEXPORT jint JNICALL
Java_Hostile_redefine(JNIEnv *env, jclass, jclass type, jbyteArray bytes)
{
	jvmtiEnv *jvmti = get_jvmti();
	std::vector<unsigned char> copy(static_cast<size_t>(env->GetArrayLength(bytes)));
	jvmtiClassDefinition definition = {type, static_cast<jint>(copy.size()), copy.data()};

	env->GetByteArrayRegion(
		bytes, 0, definition.class_byte_count, reinterpret_cast<jbyte *>(copy.data()));
	return jvmti ? jvmti->RedefineClasses(1, &definition) : -1;
}

JNIEXPORT jboolean JNICALL
Java_Hostile_sampleObjects(JNIEnv *, jclass)
{
	jvmtiEnv *jvmti;
	jvmtiCapabilities wanted = {};
	jvmtiEventCallbacks callbacks = {};

	if (vm->GetEnv(reinterpret_cast<void **>(&jvmti), JVMTI_VERSION_11) != JNI_OK)
		return JNI_FALSE;
	wanted.can_generate_sampled_object_alloc_events = 1;
	callbacks.SampledObjectAlloc = ignore;
	return !jvmti->AddCapabilities(&wanted) && !jvmti->SetHeapSamplingInterval(0) &&
	       !jvmti->SetEventCallbacks(&callbacks, sizeof(callbacks)) &&
	       !jvmti->SetEventNotificationMode(
		       JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, nullptr);
}

JNIEXPORT jint JNICALL
Java_Hostile_attachThreads(JNIEnv *env, jclass, jobject callback, jint count)
{
	std::vector<pthread_t> threads(static_cast<size_t>(count));
	int visits = 0;
	Visit argument = {env->NewGlobalRef(callback), &visits};

	for (pthread_t &thread : threads)
		pthread_create(&thread, nullptr, visit, &argument);
	for (pthread_t &thread : threads)
		pthread_join(thread, nullptr);
	env->DeleteGlobalRef(argument.callback);
	return visits;
}

JNIEXPORT void JNICALL
Java_Hostile_allocate(JNIEnv *, jclass, jint count)
{
	for (int i = 0; i < count; i++)
		hostile_site(block_bytes);
	__atomic_fetch_add(
		&native_bytes, count * static_cast<long>(block_bytes), __ATOMIC_RELAXED);
}

JNIEXPORT jlong JNICALL
Java_Hostile_nativeBytes(JNIEnv *, jclass)
{
	return native_bytes;
}

JNIEXPORT void JNICALL
Java_Hostile_crash(JNIEnv *, jclass)
{
	static int *volatile nowhere;

	*nowhere = 1;
}

JNIEXPORT void JNICALL
Java_Hostile_escape(JNIEnv *, jclass)
{
	throw std::runtime_error("nobody catches this");
}
}
